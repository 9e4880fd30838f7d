// Adds up the memory that the engine will allocate, and words the result.
#include "tools/npar/train/MemoryCheck.h"

#include "engine/program/Ranks.h"
#include "engine/readable/HumanUnits.h"
#include "engine/runtime/MachineMemory.h"
#include "engine/runtime/MemoryNeed.h"
#include "engine/show/View.h"
#include "tools/npar/terminal/Talk.h"

#include <fmt/format.h>

namespace npar::driver {

using readable::humanBytes;

ExitCode checkMemory(const std::vector<ProgramPointer> &programs, const engine::Crew &crew, bool saved, bool quiet,
                     const std::string &advice, uint64_t snapshot, const std::vector<int64_t> &ranks) {
  engine::MemoryNeed need;
  int64_t count = 0;
  for (const ProgramPointer &program : programs) {
    bool all = ranks.empty() || program != programs.front();
    engine::MemoryNeed one = engine::memoryNeeded(program->root(), crew, all ? std::vector<int64_t>() : ranks);
    need.arenas += one.arenas, need.graph += one.graph, need.workers += one.workers;
    need.weights += saved ? one.weights : 0;
    count += all ? program::worldOf(program->root()) : static_cast<int64_t>(ranks.size());
  }
  auto text = [](uint64_t bytes) { return humanBytes(static_cast<double>(bytes)); };
  std::string parts = need.arenas > 0 ? fmt::format("{} for the arenas, ", text(need.arenas)) : "";
  parts += fmt::format("about {} for the graph of the steps of {} rank{}", text(need.graph), count, count == 1 ? "" : "s");
  if (int64_t workers = crew.workers * crew.processes; need.workers > 0)
    parts += fmt::format(", up to {} for the operands that {} worker{} pack{}", text(need.workers), workers, workers == 1 ? "" : "s",
                         workers == 1 ? "s" : "");
  if (need.weights > 0)
    parts += fmt::format(", {} to collect the weights", text(need.weights));
  if (snapshot > 0)
    parts += fmt::format(", {} for the snapshot of a checkpoint", text(snapshot));
  uint64_t total = need.total() + snapshot;
  engine::MachineMemory machine = engine::machineMemory();
  if (total > machine.bytes)
    return fail(ExitCode::BadInput,
                fmt::format("this needs {} of memory, but only {} are available ({}): {}\nnpar: help: {}, or use a machine with "
                            "more memory; npar inspect works on this machine for any size",
                            text(total), text(machine.bytes), machine.limit, parts, advice));
  if (!quiet)
    printRemark(fmt::format("takes {} of memory: {}", text(total), parts));
  return ExitCode::Good;
}

} // namespace npar::driver
