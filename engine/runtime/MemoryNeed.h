// The memory that a session will take, from the program alone: known before anything is allocated.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>

namespace npar::engine {

struct MemoryNeed {
  uint64_t arenas = 0;  ///< bytes of all ranks together: exact
  uint64_t graph = 0;   ///< of the step graph: an estimate
  uint64_t weights = 0; ///< of all parameters once, where they are collected to be written
  uint64_t total() const { return arenas + graph + weights; }
};

/// The memory that a verified program takes. `computes` is false for a backend that follows no pointer (null), whose arenas take nothing.
MemoryNeed memoryNeeded(const program::Program &program, bool computes);

} // namespace npar::engine
