// Masters: the float32 values of which parameters in 16 bits are the roundings.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>

namespace npar::program {

/// Whether the variable holds the float32 value that a 16-bit parameter, `variable.of()`, is the rounding of.
bool isMaster(const Variable &variable);

/// Index of a parameter's master; -1 when it has none.
int64_t masterOf(const Program &program, uint32_t parameter);

} // namespace npar::program
