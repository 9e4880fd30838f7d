// Posts a session's operations to another communicator in the program's order, whatever order its steps become ready in.
#pragma once

#include "engine/comm/Communicator.h"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace npar::engine {

/// Some transports match operations by the order in which they are posted (NCCL's communicators, MPI's collectives), so all processes must
/// post theirs in one order. In every training step, an operation waits here until all that precede it in CommunicationPlan.operations have
/// been posted. Every program is proved to have no cyclic wait in this order (engine/program/Deadlock.h).
class OrderedCommunicator final : public Communicator {
public:
  explicit OrderedCommunicator(std::shared_ptr<Communicator> inner) : inner(std::move(inner)) {}
  Status prepare(const CommunicationPlan &plan) override;
  bool needsOrder() const override { return true; }
  void beginStep(int64_t trainingStep) override { inner->beginStep(trainingStep); }
  void post(const Operation &operation) override;
  void abort(const Status &status) override;
  /// The other communicator's pending operations, and those that wait here for their turn, which miss no member.
  std::vector<PendingOperation> pending() const override;
  Status abortedElsewhere() const override { return inner->abortedElsewhere(); }
  Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own, double timeoutSeconds) override {
    return inner->gather(own, timeoutSeconds);
  }

private:
  void postWhoseTurnItIs(std::unique_lock<std::mutex> &lock);

  std::shared_ptr<Communicator> inner;
  std::unordered_map<uint64_t, size_t> places; ///< by tag
  mutable std::mutex mutex;
  std::vector<const Operation *> operations; ///< by place
  std::vector<bool> waiting;                 ///< by place: arrived, but not yet posted
  size_t next = 0;                           ///< the place of the next operation to post
  bool posting = false;                      ///< a thread is posting: it also posts operations that arrive meanwhile
  bool aborted = false;                      ///< order no longer matters: everything is passed to `inner`, which returns the reason
};

} // namespace npar::engine
