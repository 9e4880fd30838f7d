// Finds the chunks of a stage that use each parameter.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::show {

/// By piece of the class: of parameters the chunks whose forward, backward or weight fragments read them, ascending; of others empty. What
/// the prologue makes of a parameter, such as a copy that was gathered once for the whole step, counts as the parameter.
std::vector<std::vector<uint32_t>> chunksOfParameters(const program::Program &program, const program::RankClass &rankClass);

} // namespace npar::show
