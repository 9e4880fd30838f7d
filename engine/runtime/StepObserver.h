// Observes the ranks of a session, step by step: for records that outlive a process and to find which rank waits for which.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/runtime/Operations.h"
#include "engine/runtime/StepGraph.h"

namespace npar::engine {

/// Any worker calls `began`, `ended` and `failed`, for every node: they must be very cheap and must not block.
class StepObserver {
public:
  virtual ~StepObserver() = default;
  /// Called before the first training step. The arguments live until `closed`.
  virtual void opened(const program::Program &program, const StepGraph &graph, const Operations &operations,
                      const Communicator &communicator) = 0;
  virtual void closed() = 0;
  virtual void stepBegan(int64_t trainingStep) = 0;
  virtual void stepEnded() = 0;
  /// A communication node began: it is about to be posted. Joins are not reported.
  virtual void began(uint32_t node) = 0;
  /// A node ended whose work continued after its worker left it: communication, or work of a device.
  virtual void ended(uint32_t node) = 0;
  /// The training step cannot end, because of this node, or (noIndex) because nothing progressed within the time limit. Called before the
  /// communicator is told, which then forgets which ranks wait for which.
  virtual void failed(uint32_t node) = 0;
};

} // namespace npar::engine
