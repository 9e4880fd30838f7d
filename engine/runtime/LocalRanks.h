// The ranks that a session holds out of the world: all of them, or one process's share.
#pragma once

#include "engine/device/DeviceAddress.h"
#include "engine/program/Tiers.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <vector>

namespace npar::engine {

/// A rank of this session and its memory. A list of them is ascending by rank.
struct LocalRank {
  int64_t rank = 0;
  DeviceAddress arena;            ///< memory of the device
  DeviceAddress host = {}, file = {}; ///< the other tiers, where the program has bytes in them
  program::TierBytes bytes = {UINT64_MAX, 0, 0}; ///< of the program in each tier

  /// The place at an offset of the program, which counts through the tiers.
  DeviceAddress at(uint64_t offset) const;
};

/// The ranks that are asked for, ascending; all of the world when none is. Refuses a rank that does not exist or is named twice.
Result<std::vector<int64_t>> localRanks(const program::Program &program, std::vector<int64_t> asked);

} // namespace npar::engine
