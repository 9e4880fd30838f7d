// Compares the memory check with all pairs of accesses and plain reachability, on pipelines whose order of memory use is damaged at random.
#include "engine/program/Checks.h"
#include "tests/engine/program/Pipelines.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <iostream>

namespace npar::program {
namespace {

/// True if two steps of one class, one of which writes, may touch the same bytes at the same time.
bool racesByBruteForce(const RankClass &rankClass) {
  struct Node {
    uint32_t task, step;
    bool async;
  };
  std::vector<Node> nodes;
  std::vector<uint32_t> first;
  for (uint32_t task = 0; task < rankClass.tasks()->size(); ++task) {
    first.push_back(nodes.size());
    const auto &steps = *rankClass.fragments()->Get(rankClass.tasks()->Get(task)->fragment())->steps();
    for (uint32_t step = 0; step < steps.size(); ++step)
      nodes.push_back({task, step, steps.Get(step)->kind() == StepKind::Send || steps.Get(step)->kind() == StepKind::Receive});
  }
  std::vector<std::vector<bool>> waits(nodes.size(), std::vector<bool>(nodes.size()));
  auto learn = [&](uint32_t later, uint32_t earlier) {
    waits[later][earlier] = true;
    for (uint32_t i = 0; i < earlier; ++i)
      waits[later][i] = waits[later][i] || waits[earlier][i];
  };
  auto fragmentOf = [&](uint32_t node) -> const Fragment & {
    return *rankClass.fragments()->Get(rankClass.tasks()->Get(nodes[node].task)->fragment());
  };
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    const Step &step = *fragmentOf(node).steps()->Get(nodes[node].step);
    for (uint32_t i = 0; i < step.dependency_count(); ++i)
      learn(node, first[nodes[node].task] + fragmentOf(node).dependencies()->Get(step.first_dependency() + i));
    for (const TaskDependency *edge : *rankClass.task_dependencies())
      if (edge->task() == nodes[node].task && edge->step() == nodes[node].step)
        learn(node, first[edge->on_task()] + edge->on_step());
    uint32_t chain = nodes[node].task - (rankClass.tasks()->Get(nodes[node].task)->overlaps() != 0);
    for (uint32_t other = 0; other < first[chain] && !nodes[node].async; ++other)
      if (!nodes[other].async)
        learn(node, other);
  }
  struct Access {
    uint64_t begin, end;
    bool write;
  };
  auto accessesOf = [&](uint32_t node) {
    std::vector<Access> result;
    const Step &step = *fragmentOf(node).steps()->Get(nodes[node].step);
    for (uint32_t i = 0; i < uint32_t(step.inputs()) + step.outputs(); ++i) {
      const Operand *operand = fragmentOf(node).operands()->Get(step.first_operand() + i);
      uint64_t begin =
          rankClass.bases()->Get(rankClass.tasks()->Get(nodes[node].task)->first_base() + operand->region()) + operand->offset();
      result.push_back({begin, begin + operand->bytes(), i >= step.inputs()});
    }
    return result;
  };
  // Whatever else may order them: the check counts compute steps of tasks that overlap as unordered.
  auto isPair = [&](const Node &earlier, const Node &later) {
    return !earlier.async && !later.async && earlier.task + 1 == later.task && rankClass.tasks()->Get(later.task)->overlaps() != 0;
  };
  for (uint32_t later = 0; later < nodes.size(); ++later)
    for (uint32_t earlier = 0; earlier < later; ++earlier)
      if (!waits[later][earlier] || isPair(nodes[earlier], nodes[later]))
        for (const Access &a : accessesOf(earlier))
          for (const Access &b : accessesOf(later))
            if ((a.write || b.write) && a.begin < b.end && b.begin < a.end)
              return true;
  return false;
}

TEST(MemoryCheck, AgreesWithBruteForce) {
  std::mt19937 chance(5);
  uint32_t races = 0, rounds = 1500;
  for (uint32_t round = 0; round < rounds; ++round) {
    PipelineShape shape;
    shape.stages = 2 + chance() % 2, shape.micros = 2 + chance() % 4, shape.slots = 1 + chance() % 2;
    shape.splitBackward = chance() % 2, shape.tied = chance() % 2, shape.tpReductions = chance() % 2;
    if (shape.stages > 2)
      shape.skips = {{0, 2}};
    shape.overlaps = round % 2;
    ProgramT program = buildPipeline(shape, drawOrder(shape, chance));
    RankClassT &rankClass = *program.classes[chance() % program.classes.size()];
    // Some backwards overlap the forward before them.
    for (uint32_t task = 1; shape.overlaps && task < rankClass.tasks.size(); ++task)
      if (rankClass.fragments[rankClass.tasks[task - 1].fragment()]->phase == Phase::Forward &&
          rankClass.fragments[rankClass.tasks[task].fragment()]->phase == Phase::Backward && chance() % 2)
        rankClass.tasks[task].mutate_overlaps(1);
    // Edges that go, edges that come, steps that read or write elsewhere.
    for (uint32_t damage = chance() % 4; damage > 0; --damage) {
      FragmentT &fragment = *rankClass.fragments[chance() % rankClass.fragments.size()];
      auto &edges = rankClass.task_dependencies;
      uint32_t task = 1 + chance() % (rankClass.tasks.size() - 1), on = chance() % task;
      auto stepOf = [&](uint32_t index) { return chance() % rankClass.fragments[rankClass.tasks[index].fragment()]->steps.size(); };
      switch (chance() % 3) {
      case 0:
        if (!edges.empty())
          edges.erase(edges.begin() + chance() % edges.size());
        break;
      case 1:
        edges.emplace_back(task, stepOf(task), on, stepOf(on));
        break;
      default:
        if (!fragment.operands.empty()) {
          Operand &operand = fragment.operands[chance() % fragment.operands.size()];
          operand = Operand(chance() % rankClass.regions.size(), 0, 16 * (chance() % 3), 32);
        }
      }
    }
    Packed packed(program);
    bool expected = false;
    for (const RankClass *each : *packed.root().classes())
      expected |= racesByBruteForce(*each);
    std::string found = checkMemory(packed.root());
    bool inOneStep = found.find("writes an operand that overlaps another one") != std::string::npos;
    ASSERT_TRUE(inOneStep || expected == !found.empty()) << "round " << round << ": " << found;
    races += expected;
  }
  std::cout << rounds << " programs, " << races << " with races\n";
  EXPECT_GT(races, rounds / 8);
  EXPECT_LT(races, rounds - rounds / 8);
}

} // namespace
} // namespace npar::program
