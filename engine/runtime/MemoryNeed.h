// The memory that a session will take, from the program alone: known before anything is allocated.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::engine {

struct MemoryNeed {
  uint64_t arenas = 0;  ///< bytes of all ranks together: exact
  uint64_t graph = 0;   ///< of the step graph: an estimate
  uint64_t weights = 0; ///< of all parameters once, where they are collected to be written
  uint64_t total() const { return arenas + graph + weights; }
};

/// The memory that the ranks of a session take of a verified program; `ranks` is empty for all of the world. `computes` is false for a
/// backend without memory (null), whose arenas take nothing.
MemoryNeed memoryNeeded(const program::Program &program, bool computes, const std::vector<int64_t> &ranks = {});

} // namespace npar::engine
