// Asks the operating system and the libraries' own probes.
#include "tools/lib/doctor/Surroundings.h"

#include "engine/comm/mpi/MpiModules.h"
#include "engine/device/ProcessorFeatures.h"
#include "engine/runtime/WorkerCount.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sys/statvfs.h>
#include <sys/timex.h>

namespace npar::doctor {

using engine::Status;

const char *Surroundings::variable(const char *name) const { return std::getenv(name); }

std::optional<bool> Surroundings::hasFeature(std::string_view name) const { return engine::hasFeature(name); }

std::optional<double> Surroundings::processorQuota() const {
  std::ifstream groups("/proc/self/cgroup");
  std::string path;
  for (std::string line; std::getline(groups, line);)
    if (line.rfind("0::", 0) == 0) // the only hierarchy of version 2
      path = line.substr(3);
  std::optional<double> least;
  while (true) { // all groups from this process's up: each may have a limit
    std::ifstream file("/sys/fs/cgroup" + (path == "/" ? "" : path) + "/cpu.max");
    double quota = 0, period = 0; // "max 100000" has no number first
    if (file >> quota >> period && period > 0)
      least = std::min(least.value_or(quota / period), quota / period);
    if (path == "/" || path.empty())
      return least;
    path = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
  }
}

Status Surroundings::startThreads(int threads) const { return engine::checkWorkers(threads); }

std::optional<DiskSpace> Surroundings::space(const std::string &path) const {
  struct statvfs info;
  if (::statvfs(path.c_str(), &info) != 0)
    return std::nullopt;
  DiskSpace space;
  space.freeBytes = uint64_t{info.f_bavail} * info.f_frsize;
  space.freeFiles = info.f_files == 0 ? UINT64_MAX : info.f_favail; // some file systems make their tables as they need them
  space.readOnly = (info.f_flag & ST_RDONLY) != 0;
  return space;
}

std::vector<MpiState> Surroundings::mpi() const {
  std::vector<MpiState> states;
  for (const engine::MpiModule &module : engine::mpiModules())
    states.push_back({module.library, engine::mpiexecOf(module), engine::mpiTransport(module.name).status()});
  return states;
}

int64_t Surroundings::seconds() const { return std::time(nullptr); }

std::optional<ClockState> Surroundings::clock() const {
  timex state{}; // no mode: only reads
  if (::adjtimex(&state) < 0)
    return std::nullopt;
  return ClockState{(state.status & STA_UNSYNC) == 0, static_cast<double>(state.maxerror) / 1e6};
}

Status Surroundings::listenAt(uint32_t address, uint16_t port) const { return engine::listenAt(address, port).status(); }

} // namespace npar::doctor
