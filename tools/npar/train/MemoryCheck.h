// Whether this machine has the memory that programs need to run, asked before any of it is taken.
#pragma once

#include "engine/runtime/MemoryNeed.h"
#include "tools/npar/model/LoadModel.h"

#include <string>
#include <vector>

namespace npar::driver {

/// For programs that run beside each other. BadInput, with the numbers and what to do (`advice`), when there is too little. Otherwise says
/// on stderr what they take, unless `quiet`. `saved`: all weights are collected once, to write them. `snapshot`: bytes of what a
/// checkpoint is written from. `ranks`: those of the first program that are on this machine; empty: all of every program.
ExitCode checkMemory(const std::vector<ProgramPointer> &programs, const engine::Crew &crew, bool saved, bool quiet,
                     const std::string &advice, uint64_t snapshot = 0, const std::vector<int64_t> &ranks = {});

} // namespace npar::driver
