// The ranks that a session holds out of the world: all of them, or one process's share.
#pragma once

#include "engine/device/DeviceAddress.h"

#include <cstdint>

namespace npar::engine {

/// A rank of this session and its arena. A list of them is ascending by rank.
struct LocalRank {
  int64_t rank = 0;
  DeviceAddress arena;
};

} // namespace npar::engine
