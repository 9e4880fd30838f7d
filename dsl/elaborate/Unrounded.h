// A scope of formulas whose values would overflow or lose digits in 16 bits, such as statistics of norms.
#pragma once

#include "dsl/elaborate/Graph.h"

namespace npar::dsl {

/// Nodes that are added meanwhile keep float32 under types of 16 bits.
class Unrounded {
public:
  explicit Unrounded(Graph &graph) : graph(graph), before(graph.unrounded) { graph.unrounded = true; }
  ~Unrounded() { graph.unrounded = before; }
  Unrounded(const Unrounded &) = delete;
  Unrounded &operator=(const Unrounded &) = delete;

private:
  Graph &graph;
  bool before;
};

} // namespace npar::dsl
