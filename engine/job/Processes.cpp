// Implements the answers of a process alone, and gathers the arenas of several.
#include "engine/job/Processes.h"

#include "engine/runtime/WorkerCount.h"

#include <algorithm>
#include <cstring>

namespace npar::job {

engine::Crew Processes::crew(int threads, const std::string &backend) const { return {backend, engine::workerCount(threads), 1}; }

engine::Result<std::vector<engine::ArenaUse>> Processes::arenaUse(const engine::Session &session) const {
  const std::vector<engine::ArenaUse> own = session.arenaUse();
  auto *bytes = reinterpret_cast<const uint8_t *>(own.data());
  TRY(std::vector<std::vector<uint8_t>> gathered, gather({bytes, bytes + own.size() * sizeof(engine::ArenaUse)}));
  std::vector<engine::ArenaUse> all;
  for (const std::vector<uint8_t> &each : gathered) {
    size_t before = all.size();
    all.resize(before + each.size() / sizeof(engine::ArenaUse));
    if (all.size() > before)
      std::memcpy(all.data() + before, each.data(), (all.size() - before) * sizeof(engine::ArenaUse));
  }
  std::sort(all.begin(), all.end(), [](const engine::ArenaUse &a, const engine::ArenaUse &b) { return a.rank < b.rank; });
  return all;
}

} // namespace npar::job
