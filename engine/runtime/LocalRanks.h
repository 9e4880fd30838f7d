// The ranks that a session holds out of the world: all of them, or one process's share.
#pragma once

#include "engine/device/DeviceAddress.h"
#include "engine/program/Program_generated.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <vector>

namespace npar::engine {

/// A rank of this session and its arena. A list of them is ascending by rank.
struct LocalRank {
  int64_t rank = 0;
  DeviceAddress arena;
};

/// The ranks that are asked for, ascending; all of the world when none is. Refuses a rank that does not exist or is named twice.
Result<std::vector<int64_t>> localRanks(const program::Program &program, std::vector<int64_t> asked);

} // namespace npar::engine
