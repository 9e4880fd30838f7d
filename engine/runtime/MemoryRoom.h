// Checks, before any memory is allocated, that this machine has enough to run programs.
#pragma once

#include "engine/program/Loader.h"
#include "engine/runtime/MemoryNeed.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

/// Programs that run at the same time.
struct MemoryRequest {
  std::vector<program::ProgramPointer> programs;
  std::vector<program::ProgramPointer> guests; ///< take turns in the memory of the first program
  Crew crew;
  std::vector<int64_t> ranks; ///< the first program's ranks on this machine; empty: all of every program
  bool saved = false;         ///< all weights are gathered once, to be written
  uint64_t snapshot = 0;      ///< bytes of the buffer from which checkpoints are written
};

/// The sentence "takes 3.4 GB of memory: ..." for the user. BadInput, with the numbers and `advice` on what to do, if there is too little.
Result<std::string> checkRoom(const MemoryRequest &request, const std::string &advice);

} // namespace npar::engine
