// Is told what the ranks of a session do, step by step: for records that outlive a process and for finding out who waits for whom.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/runtime/Operations.h"
#include "engine/runtime/StepGraph.h"

namespace npar::engine {

/// `began`, `ended` and `failed` come from any worker, at every node: they must cost next to nothing and wait for nobody.
class StepObserver {
public:
  virtual ~StepObserver() = default;
  /// Before the first training step. What is given lives until `closed`.
  virtual void opened(const program::Program &program, const StepGraph &graph, const Operations &operations,
                      const Communicator &communicator) = 0;
  virtual void closed() = 0;
  virtual void stepBegan(int64_t trainingStep) = 0;
  virtual void stepEnded() = 0;
  /// A node that communicates began: it is about to be posted. Joins are not told of.
  virtual void began(uint32_t node) = 0;
  /// Of a node that goes on after its worker has left it: communication, and work of a device.
  virtual void ended(uint32_t node) = 0;
  /// The training step cannot end, because of this node, or (noIndex) because nothing has moved for the time limit. Called before the
  /// communicator is told, which then forgets who waits for whom.
  virtual void failed(uint32_t node) = 0;
};

} // namespace npar::engine
