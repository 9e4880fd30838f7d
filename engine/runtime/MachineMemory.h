// The memory that this process can still allocate: free memory, and limits on it.
#pragma once

#include <cstdint>
#include <string>

namespace npar::engine {

struct MachineMemory {
  uint64_t bytes = UINT64_MAX; ///< the least of all limits; the largest number when none is known
  std::string limit;           ///< name of the least limit, such as "the machine's free memory"
};

/// The least of: MemAvailable plus free swap of /proc/meminfo; for every memory cgroup (v1 and v2) from this process's up, its limit minus
/// its used memory that cannot be reclaimed; `ulimit -v` and `ulimit -d`. `root` is prepended to /proc and /sys (tests).
MachineMemory machineMemory(const std::string &root = "");

} // namespace npar::engine
