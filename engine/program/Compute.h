// Names the element type that a program computes in, in the words of a plan.
#pragma once

#include "engine/program/Program_generated.h"

namespace npar::program {

/// True if some product rounds its operands to TF32. `compute tf32` differs from `compute f32` in such products only.
bool multipliesInTf32(const Program &program);

/// "f32", "tf32", "bf16"
const char *computeWord(const Program &program);

} // namespace npar::program
