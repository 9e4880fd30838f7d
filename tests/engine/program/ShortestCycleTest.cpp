// Cycles against brute force on small random graphs; the same graph gives the same cycle.
#include "engine/program/ShortestCycle.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace npar::program {
namespace {

Digraph graphOf(uint32_t nodes, std::vector<std::pair<uint32_t, uint32_t>> edges, std::vector<bool> counted) {
  std::stable_sort(edges.begin(), edges.end(), [](auto a, auto b) { return a.first < b.first; });
  Digraph graph;
  graph.counted = std::move(counted);
  graph.start.assign(nodes + 1, 0);
  for (auto [from, to] : edges) {
    ++graph.start[from + 1];
    graph.heads.push_back(to);
  }
  std::partial_sum(graph.start.begin(), graph.start.end(), graph.start.begin());
  return graph;
}

uint32_t tailOf(const Digraph &graph, uint32_t edge) {
  return std::upper_bound(graph.start.begin(), graph.start.end(), edge) - graph.start.begin() - 1;
}

/// Fewest counted nodes of any cycle by Floyd and Warshall's all pairs; ~0u when there is none.
uint32_t bruteForce(const Digraph &graph) {
  constexpr uint32_t far = 1u << 20;
  uint32_t n = graph.size(), best = ~0u;
  std::vector<std::vector<uint32_t>> length(n, std::vector<uint32_t>(n, far)); // counted nodes after the first
  for (uint32_t from = 0; from < n; ++from)
    for (uint32_t i = graph.start[from]; i < graph.start[from + 1]; ++i)
      length[from][graph.heads[i]] = graph.counted[graph.heads[i]];
  for (uint32_t k = 0; k < n; ++k)
    for (uint32_t i = 0; i < n; ++i)
      for (uint32_t j = 0; j < n; ++j)
        length[i][j] = std::min(length[i][j], length[i][k] + length[k][j]);
  for (uint32_t i = 0; i < n; ++i)
    if (length[i][i] < far)
      best = std::min(best, length[i][i]);
  return best;
}

TEST(ShortestCycle, NoneInAnAcyclicGraph) {
  Digraph graph = graphOf(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, {true, true, true, true});
  EXPECT_TRUE(shortestCycle(graph, {0, 1, 2, 3}).empty());
}

TEST(ShortestCycle, ANodeThatWaitsForItself) {
  Digraph graph = graphOf(3, {{0, 1}, {1, 2}, {2, 0}, {1, 1}}, {true, true, true});
  std::vector<uint32_t> cycle = shortestCycle(graph, {0, 1, 2});
  ASSERT_EQ(cycle.size(), 1u);
  EXPECT_EQ(graph.heads[cycle[0]], 1u);
}

// Two ways round from 0: four nodes of which two count, or three that all count.
TEST(ShortestCycle, CountsOnlyWhatCounts) {
  Digraph graph = graphOf(6, {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 4}, {4, 5}, {5, 0}}, {true, false, false, true, true, true});
  EXPECT_EQ(shortestCycle(graph, {0}).size(), 4u);
}

TEST(ShortestCycle, AsShortAsBruteForceFinds) {
  std::mt19937 chance(1);
  uint32_t cyclic = 0;
  for (int round = 0; round < 3000; ++round) {
    uint32_t nodes = 2 + chance() % 12, count = nodes + chance() % (nodes * 2);
    std::vector<std::pair<uint32_t, uint32_t>> edges;
    std::vector<bool> counted(nodes);
    for (uint32_t node = 0; node < nodes; ++node)
      counted[node] = chance() % 4 != 0;
    for (uint32_t i = 0; i < count; ++i) {
      std::pair<uint32_t, uint32_t> edge(chance() % nodes, chance() % nodes);
      if (counted[edge.first] || edge.first < edge.second) // every cycle has a counted node
        edges.push_back(edge);
    }
    Digraph graph = graphOf(nodes, edges, counted);
    std::vector<uint32_t> candidates;
    for (uint32_t node = 0; node < nodes; ++node)
      if (counted[node])
        candidates.push_back(node);
    std::shuffle(candidates.begin(), candidates.end(), chance);
    std::vector<uint32_t> cycle = shortestCycle(graph, candidates);
    uint32_t expected = bruteForce(graph), length = 0;
    ASSERT_EQ(cycle.empty(), expected == ~0u) << "round " << round;
    for (size_t i = 0; i < cycle.size(); ++i) {
      ASSERT_EQ(graph.heads[cycle[i]], tailOf(graph, cycle[(i + 1) % cycle.size()])) << "no cycle in round " << round;
      length += counted[graph.heads[cycle[i]]];
    }
    if (!cycle.empty()) {
      ASSERT_EQ(length, expected) << "round " << round;
    }
    cyclic += !cycle.empty();
    ASSERT_EQ(cycle, shortestCycle(graph, candidates));
  }
  EXPECT_GT(cyclic, 1000u);
}

} // namespace
} // namespace npar::program
