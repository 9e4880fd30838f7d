// Cuts the step graph into chains: at branches and communication for workers, or along the lanes of a device.
#include "engine/runtime/StepChains.h"

#include "engine/program/Classes.h"
#include "engine/program/EventGraph.h"
#include "engine/program/Steps.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace npar::engine {

namespace {

/// Numbers the chains in the order of their first steps; returns the chain of each step.
std::vector<uint32_t> numberChains(StepChains &chains) {
  std::vector<bool> follows(chains.next.size());
  for (uint32_t follower : chains.next)
    if (follower != noIndex)
      follows[follower] = true;
  std::vector<uint32_t> chainOf(chains.next.size());
  for (uint32_t head = 0; head < chains.next.size(); ++head) {
    if (follows[head])
      continue;
    for (uint32_t i = head; i != noIndex; i = chains.next[i])
      chainOf[i] = static_cast<uint32_t>(chains.heads.size());
    chains.heads.push_back(head);
  }
  chains.count = static_cast<uint32_t>(chains.heads.size());
  return chainOf;
}

/// The steps of each rank of the session except communication, in topological order of all steps of the world.
std::vector<std::vector<uint32_t>> orderLanes(const program::Program &program, const StepGraph &graph) {
  program::EventGraph events(program, program::GraphSteps::All, /*withCommunicationOrder=*/true);
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> placeOf; // by class, task and step
  uint32_t place = 0;
  for (uint32_t event : events.sort())
    if (events.isStep(event) && !events.isCommunication(event)) {
      const program::EventGraph::Node &at = events.nodes[event];
      placeOf[{at.rankClass, at.task, at.step}] = ++place;
    }
  std::vector<std::vector<uint32_t>> lanes(graph.ranks.size());
  // A join precedes the steps of its task; two tasks that overlap take turns.
  std::vector<std::pair<uint32_t, uint32_t>> keys(graph.nodes.size());
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const StepNode &node = graph.nodes[i];
    if (node.communicates())
      continue;
    uint32_t rankClass = program::classOf(program, node.rank);
    uint32_t task = program::firstOfPair(*program.classes()->Get(rankClass), node.task);
    keys[i] = {task, node.joins() ? 0 : placeOf.at({rankClass, node.task, node.step})};
    lanes[node.local].push_back(i);
  }
  for (std::vector<uint32_t> &lane : lanes)
    std::sort(lane.begin(), lane.end(), [&](uint32_t left, uint32_t right) { return keys[left] < keys[right]; });
  return lanes;
}

/// Brings equal kernels of a lane together.
class KernelGroups {
public:
  /// `begins` and `ends`: of pieces of lanes, whose first and last steps stay where they are.
  KernelGroups(const StepGraph &graph, const std::vector<bool> &begins, const std::vector<bool> &ends)
      : graph(graph), begins(begins), ends(ends), together(graph.nodes.size(), 1), waits(graph.nodes.size()) {}

  void arrange(std::vector<uint32_t> &lane) {
    for (size_t at = 0; at < lane.size(); ++at) {
      uint32_t step = lane[at];
      bool isKernel = !graph.nodes[step].joins() && graph.nodes[step].kind == program::StepKind::Kernel && !ends[step];
      if (!isKernel || !joinsWindow(step))
        close(lane, at);
      if (!isKernel)
        continue;
      window.push_back(step);
      for (uint32_t e = graph.firstSuccessor[step]; e < graph.firstSuccessor[step + 1]; ++e)
        waits[graph.successors[e]] = windowNumber;
    }
    close(lane, lane.size());
  }
  std::vector<uint32_t> take() { return std::move(together); }

private:
  static constexpr uint32_t most = 65535; ///< largest group that a launch can run

  bool joinsWindow(uint32_t step) const {
    if (window.empty())
      return true;
    const StepNode &node = graph.nodes[step], &first = graph.nodes[window[0]];
    return node.task == first.task && node.micro == first.micro && !begins[step] && waits[step] != windowNumber;
  }

  /// Groups the window's steps, which end at `end` in the lane, by kernel; groups keep the order of their first steps.
  void close(std::vector<uint32_t> &lane, size_t end) {
    std::vector<std::vector<uint32_t>> groups;
    std::map<uint32_t, size_t> groupOf; // by kernel: the last one
    for (uint32_t step : window) {
      auto [known, isNew] = groupOf.try_emplace(graph.nodes[step].payload, groups.size());
      if (!isNew && groups[known->second].size() == most)
        known->second = groups.size(), isNew = true;
      if (isNew)
        groups.emplace_back();
      groups[known->second].push_back(step);
    }
    auto place = lane.begin() + static_cast<std::ptrdiff_t>(end - window.size());
    for (const std::vector<uint32_t> &group : groups) {
      together[group[0]] = static_cast<uint32_t>(group.size());
      place = std::copy(group.begin(), group.end(), place);
    }
    window.clear();
    ++windowNumber;
  }

  const StepGraph &graph;
  const std::vector<bool> &begins, &ends;
  std::vector<uint32_t> together, window;
  std::vector<uint32_t> waits; ///< by step: the last window that it waits for
  uint32_t windowNumber = 1;
};

} // namespace

StepChains workerChains(const StepGraph &graph) {
  StepChains chains;
  std::vector<bool> detaches;
  for (const StepNode &node : graph.nodes)
    detaches.push_back(node.communicates());
  chains.next = chainsOf(graph, detaches);
  std::vector<uint32_t> chainOf = numberChains(chains);
  chains.together.assign(graph.nodes.size(), 1);
  chains.releases.assign(graph.nodes.size(), noIndex);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (detaches[i])
      chains.releases[i] = chainOf[i];
    for (uint32_t e = graph.firstSuccessor[i]; chains.next[i] == noIndex && e < graph.firstSuccessor[i + 1]; ++e)
      chains.edges.emplace_back(chainOf[i], chainOf[graph.successors[e]]);
  }
  return chains;
}

StepChains laneChains(const program::Program &program, const StepGraph &graph, LaneCut cut) {
  const bool eachAlone = cut == LaneCut::Steps;
  size_t count = graph.nodes.size();
  std::vector<bool> begins(count), ends(count); // a piece of a lane
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t e = graph.firstSuccessor[i]; e < graph.firstSuccessor[i + 1]; ++e)
      if (uint32_t to = graph.successors[e]; graph.nodes[i].communicates())
        begins[to] = true;
      else if (graph.nodes[to].communicates())
        ends[i] = true;
  std::vector<std::vector<uint32_t>> lanes = orderLanes(program, graph);
  for (const std::vector<uint32_t> &lane : lanes)
    for (size_t at = 0; at < lane.size(); ++at)
      if (at + 1 == lane.size() || eachAlone || (cut == LaneCut::Tasks && graph.nodes[lane[at]].task != graph.nodes[lane[at + 1]].task))
        ends[lane[at]] = true;
  KernelGroups groups(graph, begins, ends);
  for (std::vector<uint32_t> &lane : lanes)
    groups.arrange(lane);
  StepChains chains;
  chains.together = groups.take();
  chains.next.assign(count, noIndex);
  for (const std::vector<uint32_t> &lane : lanes)
    for (size_t at = 0; at + 1 < lane.size(); ++at)
      if (!ends[lane[at]] && !begins[lane[at + 1]])
        chains.next[lane[at]] = lane[at + 1];
  std::vector<uint32_t> chainOf = numberChains(chains);

  // Completions end a chain: that of a communication step its own, that of the last step of a lane's piece the piece.
  chains.releases.assign(count, noIndex);
  for (uint32_t i = 0; i < count; ++i)
    if (graph.nodes[i].communicates())
      chains.releases[i] = chainOf[i];
  for (const std::vector<uint32_t> &lane : lanes)
    for (size_t at = 0; at < lane.size(); ++at) {
      uint32_t step = lane[at];
      if (ends[step]) {
        chains.releases[step] = chains.count++;
        chains.edges.emplace_back(chainOf[step], chains.releases[step]);
      }
      if (at + 1 < lane.size() && chains.next[step] == noIndex)
        chains.edges.emplace_back(eachAlone ? chains.releases[step] : chainOf[step], chainOf[lane[at + 1]]);
    }
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t e = graph.firstSuccessor[i]; e < graph.firstSuccessor[i + 1]; ++e)
      if (uint32_t to = graph.successors[e]; graph.nodes[i].communicates() || graph.nodes[to].communicates())
        chains.edges.emplace_back(chains.releases[i], chainOf[to]);
  return chains;
}

} // namespace npar::engine
