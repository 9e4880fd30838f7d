// Builds the plan that a session gives its communicator before the first training step: groups, and the program's order of communication.
#include "engine/runtime/CommunicationPlan.h"

#include "engine/program/Classes.h"
#include "engine/program/EventGraph.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace npar::engine {

using namespace program;

namespace {

/// Sorts by the place of each operation's event in one order of the events of all classes. The order of a class is its restriction to the
/// events of the class, so every session finds the same order, whatever the classes of its ranks. Ranks of a class meet in the same event
/// in groups of their own, which their first members distinguish.
void sortByProgramOrder(const Program &program, const StepGraph &graph, std::vector<const Operation *> &operations) {
  EventGraph events(program, GraphSteps::Meeting, /*withCommunicationOrder=*/true);
  std::vector<uint32_t> placeOf(events.nodes.size(), 0);
  uint32_t place = 0;
  for (uint32_t event : events.sort())
    placeOf[event] = place++;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> placeOfStep; // by class, task, step
  for (uint32_t node = 0; node < events.nodes.size(); ++node)
    if (events.isCommunication(node)) {
      const EventGraph::Node &at = events.nodes[node];
      placeOfStep[{at.rankClass, at.task, at.step}] = placeOf[events.events[node]];
    }
  std::vector<uint32_t> classes;
  for (const LocalRank &rank : graph.ranks)
    classes.push_back(classOf(program, rank.rank));
  auto key = [&](const Operation *operation) {
    const StepNode &node = graph.nodes[operation->tag];
    return std::make_tuple(placeOfStep.at({classes[node.local], node.task, node.step}), operation->members[0], operation->member);
  };
  std::vector<std::pair<decltype(key(nullptr)), const Operation *>> keyed;
  for (const Operation *operation : operations)
    keyed.emplace_back(key(operation), operation);
  std::sort(keyed.begin(), keyed.end());
  for (size_t i = 0; i < keyed.size(); ++i)
    operations[i] = keyed[i].second;
}

} // namespace

CommunicationPlan planCommunication(const Program &program, const StepGraph &graph, const Operations &operations,
                                    std::vector<uint32_t> sessionOf, bool ordered) {
  CommunicationPlan plan;
  plan.sessionOf = std::move(sessionOf);
  for (const LocalRank &rank : graph.ranks)
    plan.ranks.push_back(rank.rank);
  // Partitions are numbered by the mesh axes of all collectives of the program, so that sessions agree on the numbers.
  std::map<std::vector<uint32_t>, uint32_t> partitions;
  auto axesOf = [](const Collective &collective) { return std::vector<uint32_t>(collective.axes()->begin(), collective.axes()->end()); };
  for (const Collective *collective : *program.collectives())
    partitions.emplace(axesOf(*collective), 0);
  uint32_t count = 0;
  for (auto &partition : partitions)
    partition.second = count++;
  std::vector<uint32_t> partitionOf; // by collective
  for (const Collective *collective : *program.collectives())
    partitionOf.push_back(partitions.at(axesOf(*collective)));
  std::set<std::tuple<uint32_t, int64_t, const int64_t *, uint32_t>> groups;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (!graph.nodes[i].communicates())
      continue;
    const Operation &operation = operations.at(i);
    plan.operations.push_back(&operation);
    if (graph.nodes[i].kind == StepKind::Collective)
      groups.emplace(partitionOf[graph.nodes[i].payload], operation.members[0], operation.members, operation.memberCount);
  }
  for (const auto &[partition, first, members, size] : groups)
    plan.groups.push_back({partition, members, size});
  if (ordered)
    sortByProgramOrder(program, graph, plan.operations);
  return plan;
}

} // namespace npar::engine
