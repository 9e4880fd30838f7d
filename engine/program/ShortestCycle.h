// A shortest cycle of a directed graph, exactly and always the same one: what a deadlock is explained with.
#pragma once

#include <cstdint>
#include <vector>

namespace npar::program {

/// A directed graph as lists of successors: those of node n are heads[start[n]] ... heads[start[n + 1] - 1].
struct Digraph {
  std::vector<uint32_t> start = {0}; ///< nodes + 1 entries
  std::vector<uint32_t> heads;
  std::vector<bool> counted; ///< whether a node adds to the length of a cycle
  uint32_t size() const { return static_cast<uint32_t>(start.size()) - 1; }
};

/// The edges, as indices into `heads` in order around the cycle, of a cycle with the fewest counted nodes; empty when there is no cycle.
/// Every cycle must hold a node of `candidates`. Of several shortest cycles it is the one found from the earliest candidate.
///
/// Nodes on no cycle are peeled off. Then each candidate that is left is an origin: breadth first from it, no deeper than the best
/// cycle yet, after which it is taken out and what is on no cycle any more is peeled off again. So the origins cut every cycle, and are as
/// few as the faults are: the first candidate of a fault takes the other cycles of that fault away with it.
std::vector<uint32_t> shortestCycle(const Digraph &graph, const std::vector<uint32_t> &candidates);

} // namespace npar::program
