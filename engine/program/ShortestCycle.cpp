// Peels, searches from few origins with a shrinking bound; lengths count some nodes only (0-1 breadth-first search).
#include "engine/program/ShortestCycle.h"

#include <algorithm>
#include <deque>

namespace npar::program {
namespace {

class Search {
public:
  explicit Search(const Digraph &graph) : graph(graph), present(graph.size(), true), incoming(graph.size(), 0), outgoing(graph.size(), 0) {
    // Predecessors: needed to peel from the far end too.
    backStart.assign(graph.size() + 2, 0);
    for (uint32_t head : graph.heads)
      ++backStart[head + 2];
    for (size_t i = 2; i < backStart.size(); ++i)
      backStart[i] += backStart[i - 1];
    tails.resize(graph.heads.size());
    for (uint32_t node = 0; node < graph.size(); ++node) {
      outgoing[node] = graph.start[node + 1] - graph.start[node];
      for (uint32_t edge = graph.start[node]; edge < graph.start[node + 1]; ++edge) {
        ++incoming[graph.heads[edge]];
        tails[backStart[graph.heads[edge] + 1]++] = node;
      }
    }
    distance.resize(graph.size());
    parentEdge.resize(graph.size());
    parent.resize(graph.size());
    seen.assign(graph.size(), 0);
    done.assign(graph.size(), 0);
  }

  std::vector<uint32_t> run(const std::vector<uint32_t> &candidates) {
    std::vector<uint32_t> idle;
    for (uint32_t node = 0; node < graph.size(); ++node)
      if (!incoming[node] || !outgoing[node])
        idle.push_back(node);
    for (uint32_t node : idle)
      remove(node);
    for (uint32_t origin : candidates) {
      if (!present[origin])
        continue;
      searchFrom(origin);
      remove(origin);
    }
    return best;
  }

private:
  const Digraph &graph;
  std::vector<bool> present;
  std::vector<uint32_t> incoming, outgoing, backStart, tails;
  std::vector<uint32_t> distance, parentEdge, parent, seen, done;
  uint32_t round = 0, bound = ~0u;
  std::vector<uint32_t> best;

  /// Removes a node, and every other node that is then on no cycle.
  void remove(uint32_t first) {
    std::vector<uint32_t> stack = {first};
    while (!stack.empty()) {
      uint32_t node = stack.back();
      stack.pop_back();
      if (!present[node])
        continue;
      present[node] = false;
      for (uint32_t i = graph.start[node]; i < graph.start[node + 1]; ++i)
        if (--incoming[graph.heads[i]] == 0)
          stack.push_back(graph.heads[i]);
      for (uint32_t i = backStart[node]; i < backStart[node + 1]; ++i)
        if (--outgoing[tails[i]] == 0)
          stack.push_back(tails[i]);
    }
  }

  void searchFrom(uint32_t origin) {
    ++round;
    std::deque<uint32_t> queue = {origin};
    distance[origin] = graph.counted[origin];
    seen[origin] = round;
    while (!queue.empty()) {
      uint32_t node = queue.front();
      queue.pop_front();
      if (done[node] == round)
        continue;
      done[node] = round;
      for (uint32_t edge = graph.start[node]; edge < graph.start[node + 1]; ++edge) {
        uint32_t head = graph.heads[edge];
        if (!present[head])
          continue;
        if (head == origin) {
          if (distance[node] < bound)
            keep(origin, node, edge);
          return;
        }
        uint32_t length = distance[node] + graph.counted[head];
        if (length >= bound || (seen[head] == round && length >= distance[head]))
          continue;
        seen[head] = round;
        distance[head] = length;
        parent[head] = node;
        parentEdge[head] = edge;
        graph.counted[head] ? queue.push_back(head) : queue.push_front(head);
      }
    }
  }

  void keep(uint32_t origin, uint32_t last, uint32_t closing) {
    bound = distance[last];
    best = {closing};
    for (uint32_t node = last; node != origin; node = parent[node])
      best.push_back(parentEdge[node]);
    std::reverse(best.begin(), best.end());
  }
};

} // namespace

std::vector<uint32_t> shortestCycle(const Digraph &graph, const std::vector<uint32_t> &candidates) { return Search(graph).run(candidates); }

} // namespace npar::program
