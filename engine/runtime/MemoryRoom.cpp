// Adds up the memory that the sessions will allocate, and words the result.
#include "engine/runtime/MemoryRoom.h"

#include "engine/program/Ranks.h"
#include "engine/readable/HumanUnits.h"
#include "engine/runtime/MachineMemory.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::engine {

Result<std::string> checkRoom(const MemoryRequest &request, const std::string &advice) {
  const Crew &crew = request.crew;
  MemoryNeed need;
  int64_t count = 0;
  for (const program::ProgramPointer &program : request.programs) {
    bool all = request.ranks.empty() || program != request.programs.front();
    MemoryNeed one = memoryNeeded(program->root(), crew, all ? std::vector<int64_t>() : request.ranks);
    need.arenas += one.arenas, need.host += one.host, need.graph += one.graph, need.workers += one.workers;
    need.weights += request.saved ? one.weights : 0;
    count += all ? program::worldOf(program->root()) : static_cast<int64_t>(request.ranks.size());
  }
  uint64_t extra = 0, extraHost = 0; // bytes by which the largest guest exceeds the first program
  for (const program::ProgramPointer &guest : request.guests) {
    MemoryNeed host = memoryNeeded(request.programs.front()->root(), crew, request.ranks);
    MemoryNeed one = memoryNeeded(guest->root(), crew, request.ranks);
    extra = std::max(extra, one.arenas - std::min(one.arenas, host.arenas));
    extraHost = std::max(extraHost, one.host - std::min(one.host, host.host));
    need.graph += one.graph, need.workers += one.workers;
  }
  need.arenas += extra, need.host += extraHost;
  auto text = [](uint64_t bytes) { return readable::humanBytes(static_cast<double>(bytes)); };
  std::string parts = need.arenas > 0 ? fmt::format("{} for the arenas, ", text(need.arenas)) : "";
  if (need.host > 0)
    parts += fmt::format("{} in the host's memory for what the plan stores there, ", text(need.host));
  parts += fmt::format("about {} for the graph of the steps of {} rank{}", text(need.graph), count, count == 1 ? "" : "s");
  if (int64_t workers = crew.workers * crew.processes; need.workers > 0)
    parts += fmt::format(", up to {} for the operands that {} worker{} pack{}", text(need.workers), workers, workers == 1 ? "" : "s",
                         workers == 1 ? "s" : "");
  if (need.weights > 0)
    parts += fmt::format(", {} to collect the weights", text(need.weights));
  if (request.snapshot > 0)
    parts += fmt::format(", {} for the snapshot of a checkpoint", text(request.snapshot));
  uint64_t total = need.total() + request.snapshot;
  MachineMemory machine = machineMemory();
  if (total > machine.bytes)
    return Status::badInput(
        fmt::format("this needs {} of memory, but only {} are available ({}): {}\nnpar: help: {}, or use a machine with "
                    "more memory; npar inspect works on this machine for any size",
                    text(total), text(machine.bytes), machine.limit, parts, advice));
  return fmt::format("takes {} of memory: {}", text(total), parts);
}

} // namespace npar::engine
