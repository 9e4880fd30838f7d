// Bytes of a collective's input on one rank.
#pragma once

#include "engine/program/Elements.h"
#include "engine/program/Program_generated.h"

#include <cmath>

namespace npar::show {

inline uint64_t worstBytes(const program::Collective &collective) { return collective.count() * program::sizeOf(collective.type()); }

/// The same at a balanced load of experts, which leaves places for routed rows empty, rounded to whole bytes.
inline uint64_t balancedBytes(const program::Collective &collective) {
  uint64_t bytes = worstBytes(collective);
  return collective.filled() < 1 ? static_cast<uint64_t>(std::llround(static_cast<double>(bytes) * collective.filled())) : bytes;
}

} // namespace npar::show
