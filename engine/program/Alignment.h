// Checks that the elements of every vector of a program are aligned for their type.
#pragma once

#include "engine/program/Program_generated.h"

namespace npar::program {

/// True if every vector element is aligned. FlatBuffers' own verifier (2.0.8) checks the alignment of tables, fields and vector lengths,
/// but not of vector elements: a list of 64-bit numbers may begin at half an element. The program must have passed that verifier.
bool elementsAreAligned(const Program &program);

} // namespace npar::program
