// Runs a kernel: its blocks in random order, the lanes of a warp in lockstep.
#pragma once

#include "tests/engine/backends/standin/Memory.h"
#include "tests/engine/backends/standin/Queue.h"
#include "tests/engine/backends/standin/ptx/Instruction.h"

namespace npar::standin::ptx {

struct Launch {
  const Kernel *kernel;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint64_t dynamicSharedBytes = 0;
  std::vector<uint8_t> parameters;
  uint64_t seed = 1;
};

/// Lanes of a warp that part meet again where the others come by: the group with the lowest instruction goes first. An exchange waits for
/// all lanes that its mask names. `laneInstructions`: how many instructions ran, counted by lane; may be null.
Outcome run(const Launch &launch, const Memory &memory, int device, uint64_t *laneInstructions = nullptr);

} // namespace npar::standin::ptx
