// Reads the kernel's tables. A missing table sets no limit.
#include "engine/runtime/MachineMemory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <sys/resource.h>
#include <tuple>
#include <unistd.h>

namespace npar::engine {
namespace {

/// The number after `name` in a table of lines such as `MemAvailable:  123 kB` or `inactive_file 123`.
uint64_t entry(const std::string &path, const std::string &name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    uint64_t value = 0;
    if (words >> key && key == name && words >> value)
      return value;
  }
  return 0;
}

/// A file of one number; none when it is missing or says "max".
std::optional<uint64_t> number(const std::string &path) {
  std::ifstream file(path);
  uint64_t value = 0;
  return file >> value ? std::optional<uint64_t>(value) : std::nullopt;
}

void lower(MachineMemory &memory, uint64_t bytes, const std::string &limit) {
  if (bytes < memory.bytes)
    memory = {bytes, limit};
}

uint64_t less(uint64_t limit, uint64_t used) { return limit > used ? limit - used : 0; }

/// All groups from `path` up to the hierarchy's root: each may have a limit. In a container the path may be that of the host, whose folders
/// are not here; its root then is the container's own group.
void lowerToGroups(MachineMemory &memory, const std::string &hierarchy, std::string path, const char *limitName, const char *usedName,
                   const char *droppable) {
  while (true) {
    std::string group = hierarchy + (path == "/" ? "" : path) + "/";
    if (std::optional<uint64_t> limit = number(group + limitName)) {
      // The kernel reclaims inactive file pages when memory is needed, so they count as free.
      uint64_t used = less(number(group + usedName).value_or(0), entry(group + "memory.stat", droppable));
      lower(memory, less(*limit, used), "the memory limit of control group '" + path + "'");
    }
    if (path == "/" || path.empty())
      return;
    path = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
  }
}

} // namespace

MachineMemory machineMemory(const std::string &root) {
  MachineMemory memory;
  std::string table = root + "/proc/meminfo";
  if (uint64_t available = entry(table, "MemAvailable:"))
    lower(memory, (available + entry(table, "SwapFree:")) * 1024, "the machine's free memory");
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) { // hierarchy:controllers:path
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",", path = line.substr(second + 1);
    if (controllers == ",,")
      lowerToGroups(memory, root + "/sys/fs/cgroup", path, "memory.max", "memory.current", "inactive_file");
    else if (controllers.find(",memory,") != std::string::npos)
      lowerToGroups(memory, root + "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
  }
  // Pages: size, resident, shared, text, unused, data.
  std::ifstream statm(root + "/proc/self/statm");
  uint64_t pages[6] = {}, page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  for (uint64_t &one : pages)
    statm >> one;
  for (auto [resource, used, name] : {std::tuple(RLIMIT_AS, pages[0], "`ulimit -v`"), std::tuple(RLIMIT_DATA, pages[5], "`ulimit -d`")}) {
    rlimit limit;
    if (::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      lower(memory, less(limit.rlim_cur, used * page), name);
  }
  return memory;
}

} // namespace npar::engine
