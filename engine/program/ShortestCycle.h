// Finds a shortest cycle of a directed graph, exactly and always the same one, with which a deadlock is explained.
#pragma once

#include <cstdint>
#include <vector>

namespace npar::program {

/// A directed graph as lists of successors: heads[start[n]] ... heads[start[n + 1] - 1] are the successors of node n.
struct Digraph {
  std::vector<uint32_t> start = {0}; ///< nodes + 1 entries
  std::vector<uint32_t> heads;
  std::vector<bool> counted; ///< whether a node adds to the length of a cycle
  uint32_t size() const { return static_cast<uint32_t>(start.size()) - 1; }
};

/// The edges, as indices into `heads` in order around the cycle, of a cycle with the fewest counted nodes; empty when there is no cycle.
/// Every cycle must contain a node of `candidates`. Of several shortest cycles the result is the one found from the earliest candidate.
///
/// Nodes on no cycle are peeled off. Then each remaining candidate is an origin of a breadth-first search, no deeper than the best cycle so
/// far; after it, the candidate is removed and nodes that are no longer on a cycle are peeled off again. So every cycle contains an origin,
/// and there are about as many origins as faults: the first candidate of a fault takes the fault's other cycles with it.
std::vector<uint32_t> shortestCycle(const Digraph &graph, const std::vector<uint32_t> &candidates);

} // namespace npar::program
