// Operations drawn at random, done by ranks in several processes and once more by one process alone: the same bits.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/device/Backend.h"

#include <string>

namespace npar::testing {

struct RandomOptions {
  uint64_t seed = 1;
  size_t operations = 100;
  int64_t world = 7;
  size_t atOnce = 6; ///< operations that are under way at a time, begun in another order by each rank, unless the communicator needs one
};

/// Called by all processes at once, each with its communicator, which it prepares. All draw the same. Empty, or what is wrong here.
std::string whatDiffersAtRandom(engine::Communicator &communicator, engine::Backend &backend, uint32_t process, uint32_t processes,
                                const RandomOptions &options);

} // namespace npar::testing
