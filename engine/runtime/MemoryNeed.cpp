// Counts arenas and nodes per class of ranks, so that thousands of ranks cost nothing.
#include "engine/runtime/MemoryNeed.h"

#include "engine/backends/Backends.h"
#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Ranks.h"
#include "engine/runtime/WorkerCount.h"

#include <algorithm>

namespace npar::engine {

using namespace program;

MemoryNeed memoryNeeded(const Program &program, const Crew &crew, const std::vector<int64_t> &ranks) {
  bool computes = crew.backend != "null", inMemory = crew.backend == "cpu";
  // Measured with plans of 256 to 5,000 ranks, 400 to 570: node, flow-graph node, operation, edges and buffers of a step.
  constexpr uint64_t bytesPerStep = 600;
  MemoryNeed need;
  std::vector<uint64_t> local(program.classes()->size()); // by class
  for (int64_t rank : ranks)
    ++local[classOf(program, rank)];
  for (uint32_t index = 0; index < program.classes()->size(); ++index) {
    const RankClass *rankClass = program.classes()->Get(index);
    uint64_t count = ranks.empty() ? ranksOf(program, *rankClass).size() : local[index], steps = 0;
    for (const Task *task : *rankClass->tasks())
      steps += rankClass->fragments()->Get(task->fragment())->steps()->size();
    need.arenas += inMemory ? count * rankClass->arena_bytes() : 0;
    need.host += computes ? count * rankClass->host_bytes() : 0;
    need.graph += count * steps * bytesPerStep;
  }
  int64_t all = ranks.empty() ? worldOf(program) : static_cast<int64_t>(ranks.size());
  uint64_t each = bytesPerWorker(crew.backend, program, spreadOf(std::max(all / crew.processes, int64_t(1)), crew.workers));
  need.workers = each * static_cast<uint64_t>(crew.workers) * static_cast<uint64_t>(crew.processes);
  for (const Variable *variable : *program.variables()) {
    uint64_t bytes = sizeOf(widened(variable->type()));
    for (int64_t size : *variable->shape())
      bytes *= static_cast<uint64_t>(size);
    need.weights += computes && variable->kind() == VariableKind::Parameter ? bytes : 0;
  }
  return need;
}

} // namespace npar::engine
