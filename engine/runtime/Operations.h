// The communicating steps of a step graph as operations for a communicator, made once.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/logging/Trace.h"
#include "engine/runtime/StepGraph.h"

#include <deque>
#include <map>

namespace npar::engine {

class Operations {
public:
  Operations(const program::Program &program, const StepGraph &graph);
  /// The operation of a node that communicates; its tag is the node's index.
  Operation &at(uint32_t node) { return operations[place[node]]; }
  const Operation &at(uint32_t node) const { return operations[place[node]]; }

private:
  void setParts(const program::Program &program, const StepGraph &graph, const StepNode &node, Operation &operation);

  std::vector<uint32_t> place;
  std::vector<Operation> operations;
  std::deque<Operation> parts;                                 ///< parts of buckets except the first
  std::map<std::vector<int64_t>, std::vector<int64_t>> groups; ///< keeps `members` alive; nodes of a map do not move
};

/// Registers tasks, labels and lanes. Lanes: 0 compute, then one per collective's mesh axes and per direction of a transfer.
void registerTrace(const program::Program &program, const StepGraph &graph, const Operations &operations, Trace &trace,
                   std::vector<uint32_t> &labelIds, std::vector<uint32_t> &laneIds);

} // namespace npar::engine
