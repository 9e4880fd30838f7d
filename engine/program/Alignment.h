// Whether the elements of every vector of a program lie where their type may be read.
#pragma once

#include "engine/program/Program_generated.h"

namespace npar::program {

/// FlatBuffers' own verifier (2.0.8) looks at the alignment of tables, fields and of the length of a vector, but not of its elements: a
/// list of 64-bit numbers may begin between two of them. Of a program that the verifier has passed.
bool elementsAreAligned(const Program &program);

} // namespace npar::program
