// The precision of a program: what it computes in, and the float32 values (masters) of which parameters in 16 bits are the roundings.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>

namespace npar::program {

/// True if some product rounds its operands to TF32. `compute tf32` differs from `compute f32` in such products only.
bool multipliesInTf32(const Program &program);

/// True if some product, or a product inside attention, multiplies bf16. The order of products matters to no other program.
bool multipliesBf16(const Program &program);

/// The element type that the program computes in, as a plan has it: "f32", "tf32", "bf16"
const char *computeWord(const Program &program);

/// Whether the variable holds the float32 value that a 16-bit parameter, `variable.of()`, is the rounding of.
bool isMaster(const Variable &variable);

/// Index of a parameter's master; -1 when it has none.
int64_t masterOf(const Program &program, uint32_t parameter);

} // namespace npar::program
