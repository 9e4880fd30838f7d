// Computes when each step would run if every step took its planned time: the clock of a backend without arithmetic.
#include "engine/runtime/VirtualTimeline.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace npar::engine {

namespace {

/// Number of members that are ranks of this session.
size_t localMembers(const StepGraph &graph, const Operation &operation) {
  size_t count = 0;
  for (const int64_t *member = operation.members; member < operation.members + operation.memberCount; ++member)
    count += std::binary_search(graph.ranks.begin(), graph.ranks.end(), LocalRank{*member, {}},
                                [](const LocalRank &a, const LocalRank &b) { return a.rank < b.rank; });
  return count;
}

} // namespace

VirtualTimeline planTimeline(const StepGraph &graph, const Operations &operations) {
  size_t count = graph.nodes.size();
  VirtualTimeline timeline{std::vector<double>(count, 0), std::vector<double>(count, 0), 0};
  std::vector<uint32_t> open = graph.predecessorCount;
  std::vector<double> ready(count, 0);

  // The compute lane: an edge from each computing step of a rank to its next in program order.
  std::vector<uint32_t> laneNext(count, noIndex);
  std::map<uint32_t, uint32_t> laneLast;
  for (uint32_t i = 0; i < count; ++i) {
    if (graph.nodes[i].joins() || graph.nodes[i].communicates())
      continue;
    auto [last, fresh] = laneLast.emplace(graph.nodes[i].rank, i);
    if (!fresh) {
      laneNext[last->second] = i;
      ++open[i];
      last->second = i;
    }
  }

  struct Event {
    size_t awaited = 0; ///< members that are ranks of this session
    std::vector<uint32_t> ready;
  };
  std::map<std::tuple<uint32_t, uint32_t, int64_t, int64_t>, Event> events;
  std::vector<uint32_t> runnable;
  for (uint32_t i = 0; i < count; ++i)
    if (open[i] == 0)
      runnable.push_back(i);

  auto finish = [&](uint32_t node, double begin, double end) {
    timeline.begin[node] = begin, timeline.end[node] = end;
    timeline.length = std::max(timeline.length, end);
    auto release = [&](uint32_t next) {
      ready[next] = std::max(ready[next], end);
      if (--open[next] == 0)
        runnable.push_back(next);
    };
    for (uint32_t e = graph.firstSuccessor[node]; e < graph.firstSuccessor[node + 1]; ++e)
      release(graph.successors[e]);
    if (laneNext[node] != noIndex)
      release(laneNext[node]);
  };

  while (!runnable.empty()) {
    uint32_t node = runnable.back();
    runnable.pop_back();
    if (!graph.nodes[node].communicates()) {
      finish(node, ready[node], ready[node] + graph.nodes[node].seconds);
      continue;
    }
    const Operation &operation = operations.at(node);
    auto key = std::make_tuple(operation.event, operation.micro, operation.members[0], operation.members[operation.memberCount - 1]);
    Event &event = events[key];
    if (event.ready.empty())
      event.awaited = localMembers(graph, operation);
    event.ready.push_back(node);
    if (event.ready.size() < event.awaited)
      continue;
    std::vector<uint32_t> members = std::move(event.ready);
    events.erase(key);
    double begin = 0, seconds = 0;
    for (uint32_t member : members)
      begin = std::max(begin, ready[member]), seconds = std::max(seconds, graph.nodes[member].seconds);
    for (uint32_t member : members)
      finish(member, begin, begin + seconds);
  }
  return timeline;
}

} // namespace npar::engine
