// What a program computes in, as plans name it.
#pragma once

#include "engine/program/Program_generated.h"

namespace npar::program {

/// Whether some product rounds its operands to TF32: `compute tf32` is `compute f32` with such products, and nothing else.
bool multipliesInTf32(const Program &program);

/// "f32", "tf32", "bf16"
const char *computeWord(const Program &program);

} // namespace npar::program
