// The memory that this process may still take: what is free, and what limits it.
#pragma once

#include <cstdint>
#include <string>

namespace npar::engine {

struct MachineMemory {
  uint64_t bytes = UINT64_MAX; ///< the least of all limits; the largest number when none is known
  std::string limit;           ///< which one that is, such as "the machine's free memory"
};

/// The least of: MemAvailable and free swap of /proc/meminfo; of every memory cgroup (v1 and v2) from this process's up, its limit less
/// what is used of it and cannot be dropped; `ulimit -v` and `ulimit -d`. `root` stands before /proc and /sys (tests).
MachineMemory machineMemory(const std::string &root = "");

} // namespace npar::engine
