// Checks, before any memory is allocated, that this machine has enough to run programs.
#pragma once

#include "engine/runtime/MemoryNeed.h"
#include "tools/npar/model/LoadModel.h"

#include <string>
#include <vector>

namespace npar::driver {

/// Checks the memory of programs that run at the same time. BadInput, with the numbers and `advice` on what to do, if there is too little.
/// Otherwise prints their memory use on standard error, unless `quiet`. `saved`: all weights are gathered once, to be written. `snapshot`:
/// bytes of the buffer from which checkpoints are written. `ranks`: the first program's ranks on this machine; empty: all of every program.
ExitCode checkMemory(const std::vector<ProgramPointer> &programs, const engine::Crew &crew, bool saved, bool quiet,
                     const std::string &advice, uint64_t snapshot = 0, const std::vector<int64_t> &ranks = {});

} // namespace npar::driver
