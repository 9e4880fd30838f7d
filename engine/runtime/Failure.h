// Collects what went wrong in a training step, first cause first, and where every other rank stood then.
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
  /// Records the cause; false when there was one already. `node` may be noIndex when no step is to blame.
  bool raise(uint32_t node, const Status &status);
  /// Notes that a rank's operation was cut off by the abort.
  void interrupted(uint32_t node);
  /// The node a rank began last: cheap, called at each one.
  void began(uint32_t node) { last[graph.nodes[node].local].store(node, std::memory_order_relaxed); }
  /// The cause with rank, step, label and source line: what other sessions are told. Ok when nothing was raised.
  Status reason() const;
  /// The same, then a line per other rank of this session.
  Status report() const;

private:
  const program::Program &program;
  const StepGraph &graph;
  std::atomic<bool> failed{false};
  std::vector<std::atomic<uint32_t>> last; ///< by place in StepGraph::ranks
  mutable std::mutex mutex;
  Status cause;
  uint32_t causeNode = noIndex;
  std::vector<uint32_t> waiting; ///< likewise: the first interrupted node
};

} // namespace npar::engine
