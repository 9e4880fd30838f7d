// Counts processes by the hosts that they name in their introductions.
#include "engine/job/HostShare.h"

#include "engine/program/HostPlacement.h"
#include "engine/runtime/WorkerCount.h"

#include <fmt/format.h>

namespace npar::job {

using engine::Result;
using engine::Status;

Result<std::vector<std::vector<int64_t>>> ranksOfProcesses(const std::vector<Introduction> &processes, const program::Program &program,
                                                           const std::optional<std::string> &place) {
  TRY(program::PlaceWords words, place ? program::readPlace(*place) : program::placeOf(program));
  std::vector<std::string> hosts;
  for (const Introduction &each : processes)
    hosts.push_back(each.host);
  return program::ranksOfProcesses(program, words, hosts);
}

std::vector<int64_t> ranksOnHostOf(const std::vector<Introduction> &processes, size_t process, const program::Program &program,
                                   const std::optional<std::string> &place) {
  std::vector<int64_t> ranks;
  Result<std::vector<std::vector<int64_t>>> placed = ranksOfProcesses(processes, program, place);
  for (size_t each = 0; placed.ok() && each < placed->size(); ++each)
    if (processes[each].host == processes[process].host)
      ranks.insert(ranks.end(), (*placed)[each].begin(), (*placed)[each].end());
  return ranks;
}

engine::Crew crewOf(const std::vector<Introduction> &processes, size_t process, int threads, const std::string &backend) {
  int64_t here = 0;
  for (const Introduction &each : processes)
    here += each.host == processes[process].host;
  return {backend, engine::workerCount(threads), here};
}

Result<int> workersOf(const std::vector<Introduction> &processes, size_t process, int asked) {
  auto processors = static_cast<int>(processes[process].processors.size());
  if (asked > processors)
    return Status::badInput(fmt::format("--threads {}: host '{}' has only {} processors; without the flag its processes share them", asked,
                                        processes[process].host, processors));
  return asked > 0 ? asked : threadsOf(processes, process);
}

} // namespace npar::job
