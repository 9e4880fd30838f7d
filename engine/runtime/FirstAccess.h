// Finds the accumulators that a training step reads before it writes them.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::engine {

/// The accumulators that must be zero when a step begins: on some class a step reads, or adds to, bytes of them that no earlier step in the
/// class's order has written, or nothing writes them.
std::vector<uint32_t> accumulatorsToZero(const program::Program &program);

} // namespace npar::engine
