// The memory that a session will take, from the program alone: known before anything is allocated.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

struct MemoryNeed {
  uint64_t arenas = 0;  ///< bytes of all ranks together: exact
  uint64_t graph = 0;   ///< of the step graph: an estimate
  uint64_t weights = 0; ///< of all parameters once, where they are collected to be written
  uint64_t workers = 0; ///< of what all workers together pack operands into, where each has a part of the largest step
  uint64_t total() const { return arenas + graph + weights + workers; }
};

/// Who runs a program on one machine.
struct Crew {
  std::string backend = "cpu";
  int workers = 1; ///< of a process
  int64_t processes = 1;
};

/// The memory that the sessions of a crew take of a verified program. `ranks`: those of all its processes, which have equally many; empty
/// for all of the world. A backend that does not compute (null) has neither arenas nor workers' memory.
MemoryNeed memoryNeeded(const program::Program &program, const Crew &crew, const std::vector<int64_t> &ranks = {});

} // namespace npar::engine
