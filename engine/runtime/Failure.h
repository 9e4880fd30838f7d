// Collects the failures of a training step: the first cause, and where every other rank was at that time.
#pragma once

#include "engine/runtime/StepGraph.h"
#include "engine/status/Status.h"

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace npar::engine {

class Failure {
public:
  Failure(const program::Program &program, const StepGraph &graph);
  bool happened() const { return failed.load(std::memory_order_relaxed); }
  /// Records the cause; false when there was one already. `node` may be noIndex when no step caused it.
  bool raise(uint32_t node, const Status &status);
  /// Notes that a rank's operation was cut off by the abort.
  void interrupted(uint32_t node);
  /// Records the node that a rank began last. Cheap, because it is called for every node.
  void began(uint32_t node) { last[graph.nodes[node].local].store(node, std::memory_order_relaxed); }
  /// The cause with rank, step, label and source line, as other sessions receive it. Ok when nothing was raised.
  Status reason() const;
  /// The same, then a line per other rank of this session.
  Status report() const;

private:
  const program::Program &program;
  const StepGraph &graph;
  std::atomic<bool> failed{false};
  std::vector<std::atomic<uint32_t>> last; ///< latest node begun, by place in StepGraph::ranks
  mutable std::mutex mutex;
  Status cause;
  uint32_t causeNode = noIndex;
  std::vector<uint32_t> waiting; ///< first interrupted node, by place in StepGraph::ranks
};

} // namespace npar::engine
