// The program expanded for every rank of this session: one node per step instance, with addresses and edges. Pure data, no TBB.
#include "engine/runtime/StepGraph.h"

#include "engine/program/Classes.h"
#include "engine/program/Describe.h"
#include "engine/program/Steps.h"

#include <algorithm>

namespace npar::engine {

using namespace program;

namespace {

class Expansion {
public:
  Expansion(const Program &program, const std::vector<LocalRank> &ranks) : program(program), ranks(ranks) {}

  StepGraph run() {
    graph.ranks = ranks;
    for (local = 0; local < ranks.size(); ++local)
      expandRank(ranks[local], *program.classes()->Get(classOf(program, ranks[local].rank)));
    sortEdges();
    return std::move(graph);
  }

private:
  void expandRank(const LocalRank &rank, const RankClass &rankClass) {
    std::vector<uint32_t> firstNode; // of each task
    Chain chain;
    for (uint32_t index = 0; index < rankClass.tasks()->size(); ++index) {
      const Task &task = *rankClass.tasks()->Get(index);
      const Fragment &fragment = *rankClass.fragments()->Get(task.fragment());
      firstNode.push_back(static_cast<uint32_t>(graph.nodes.size()));
      addSteps(rank, rankClass, index, task, fragment);
      joinChain(fragment, firstNode.back(), overlaps(task), chain);
    }
    for (const TaskDependency *edge : *rankClass.task_dependencies())
      addEdge(firstNode[edge->on_task()] + edge->on_step(), firstNode[edge->task()] + edge->step());
  }

  void addSteps(const LocalRank &rank, const RankClass &rankClass, uint32_t index, const Task &task, const Fragment &fragment) {
    uint32_t first = static_cast<uint32_t>(graph.nodes.size());
    for (uint32_t i = 0; i < fragment.steps()->size(); ++i) {
      const Step &step = *fragment.steps()->Get(i);
      StepNode node;
      node.kind = step.kind(), node.payload = step.payload(), node.label = step.label();
      node.rank = static_cast<uint32_t>(rank.rank), node.local = local, node.task = index, node.step = i, node.micro = task.micro();
      node.inputs = step.inputs(), node.outputs = step.outputs();
      node.seconds = std::max(0.0, step.end() - step.begin());
      node.firstBuffer = static_cast<uint32_t>(graph.buffers.size());
      for (uint32_t j = 0; j < uint32_t(step.inputs()) + step.outputs(); ++j) {
        const Operand &operand = *fragment.operands()->Get(step.first_operand() + j);
        graph.buffers.push_back(rank.at(rankClass.bases()->Get(task.first_base() + operand.region()) + operand.offset()));
        node.bytes += operand.bytes();
        if (j == 0)
          node.firstBytes = operand.bytes();
      }
      graph.nodes.push_back(node);
      for (uint32_t j = 0; j < step.dependency_count(); ++j)
        addEdge(first + fragment.dependencies()->Get(step.first_dependency() + j), first + i);
    }
  }

  /// The last steps of all tasks so far, and of those before the last one.
  struct Chain {
    std::vector<uint32_t> end, endBefore;
  };

  /// After the chain's end come the steps of this fragment that no chain step of the fragment precedes; its new end are those that
  /// precede none. A join node keeps the number of edges linear. A task that overlaps the one before it begins where that one does, and the
  /// steps of both are the end.
  void joinChain(const Fragment &fragment, uint32_t first, bool overlaps, Chain &chain) {
    uint32_t count = fragment.steps()->size();
    std::vector<uint32_t> starts, ends;
    std::vector<bool> precedes(count, false);
    for (uint32_t i = 0; i < count; ++i) {
      const Step &step = *fragment.steps()->Get(i);
      if (isAsync(step))
        continue;
      bool preceded = false;
      for (uint32_t j = 0; j < step.dependency_count(); ++j) {
        uint32_t on = fragment.dependencies()->Get(step.first_dependency() + j);
        if (!isAsync(*fragment.steps()->Get(on)))
          preceded = precedes[on] = true;
      }
      if (!preceded)
        starts.push_back(first + i);
    }
    for (uint32_t i = 0; i < count; ++i)
      if (!isAsync(*fragment.steps()->Get(i)) && !precedes[i])
        ends.push_back(first + i);
    if (!overlaps)
      chain.endBefore = chain.end;
    if (ends.empty())
      return;
    std::vector<uint32_t> &after = chain.endBefore;
    if (after.size() > 1 && starts.size() > 1) {
      StepNode join;
      join.rank = graph.nodes[first].rank, join.local = local, join.task = graph.nodes[first].task;
      uint32_t index = static_cast<uint32_t>(graph.nodes.size());
      graph.nodes.push_back(join);
      for (uint32_t end : after)
        addEdge(end, index);
      after = {index};
    }
    for (uint32_t end : after)
      for (uint32_t start : starts)
        addEdge(end, start);
    if (!overlaps)
      chain.end.clear();
    chain.end.insert(chain.end.end(), ends.begin(), ends.end());
  }

  void addEdge(uint32_t from, uint32_t to) { edges.emplace_back(from, to); }

  void sortEdges() {
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    graph.firstSuccessor.assign(graph.nodes.size() + 1, 0);
    graph.predecessorCount.assign(graph.nodes.size(), 0);
    for (const auto &[from, to] : edges) {
      ++graph.firstSuccessor[from + 1];
      ++graph.predecessorCount[to];
      graph.successors.push_back(to);
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      graph.firstSuccessor[i + 1] += graph.firstSuccessor[i];
  }

  const Program &program;
  const std::vector<LocalRank> &ranks;
  uint32_t local = 0; ///< the rank that is being expanded
  StepGraph graph;
  std::vector<std::pair<uint32_t, uint32_t>> edges;
};

} // namespace

StepGraph expandProgram(const Program &program, const std::vector<LocalRank> &ranks) { return Expansion(program, ranks).run(); }

std::vector<uint32_t> chainsOf(const StepGraph &graph, const std::vector<bool> &detaches) {
  std::vector<uint32_t> next(graph.nodes.size(), noIndex);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    uint32_t begin = graph.firstSuccessor[i], count = graph.firstSuccessor[i + 1] - begin;
    if (count == 1 && !detaches[i] && graph.predecessorCount[graph.successors[begin]] == 1)
      next[i] = graph.successors[begin];
  }
  return next;
}

std::string describeNode(const Program &program, const StepNode &node) {
  const RankClass &rankClass = *program.classes()->Get(classOf(program, node.rank));
  std::string text = "rank " + std::to_string(node.rank) + ", task " + describeTask(rankClass, node.task);
  if (node.joins())
    return text;
  const Label &label = *program.labels()->Get(node.label);
  text += ", step " + std::to_string(node.step) + " '" + label.text()->str() + "'";
  if (const SourcePlace *place = label.source())
    text += " (" + place->file()->str() + ":" + std::to_string(place->line()) + ":" + std::to_string(place->column()) + ")";
  return text;
}

} // namespace npar::engine
