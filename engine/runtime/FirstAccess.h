// What a step of training finds in variables: who writes them first, who takes what was there.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::engine {

/// The accumulators that must be zero when a step begins: on some class a step reads, or adds to, bytes of them that no step before it in
/// the class's order has written, or nothing writes them.
std::vector<uint32_t> accumulatorsToZero(const program::Program &program);

} // namespace npar::engine
