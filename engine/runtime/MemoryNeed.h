// The memory that a session will take, computed from the program before anything is allocated.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

struct MemoryNeed {
  uint64_t arenas = 0;  ///< bytes of all ranks together: exact
  uint64_t host = 0;    ///< bytes of all ranks together in the host's memory: exact
  uint64_t graph = 0;   ///< bytes of the step graph: an estimate
  uint64_t weights = 0; ///< bytes of all parameters once, if they are collected for writing
  uint64_t workers = 0; ///< bytes of the packed operands of all workers together, if each has a part of the largest step
  uint64_t total() const { return arenas + host + graph + weights + workers; }
};

/// The processes that run a program on one machine.
struct Crew {
  std::string backend = "cpu";
  int workers = 1; ///< per process
  int64_t processes = 1;
};

/// The memory that the sessions of a crew take for a verified program. `ranks`: the ranks of all its processes, the same number in each;
/// empty: all ranks of the world. A backend that does not compute (null) has neither arenas nor workers' memory.
MemoryNeed memoryNeeded(const program::Program &program, const Crew &crew, const std::vector<int64_t> &ranks = {});

} // namespace npar::engine
