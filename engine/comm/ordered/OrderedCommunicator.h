// Posts a session's operations to another communicator in the program's order, whichever order its steps become ready in.
#pragma once

#include "engine/comm/Communicator.h"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace npar::engine {

/// Some transports match operations by the order they are posted in (NCCL's communicators, MPI's collectives): all processes must post
/// theirs in one order then. An operation waits here until all that precede it in CommunicationPlan.operations have been posted, in every
/// training step anew. That the order makes nobody wait in a circle is proved of every program (engine/program/Deadlock.h).
class OrderedCommunicator final : public Communicator {
public:
  explicit OrderedCommunicator(std::shared_ptr<Communicator> inner) : inner(std::move(inner)) {}
  Status prepare(const CommunicationPlan &plan) override;
  bool needsOrder() const override { return true; }
  void beginStep(int64_t trainingStep) override { inner->beginStep(trainingStep); }
  void post(const Operation &operation) override;
  void abort(const Status &status) override;
  /// Of what the other communicator has, and of what waits for its turn: this is missing nobody.
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
  std::vector<bool> waiting;                 ///< by place: has come and not been posted
  size_t next = 0;                           ///< the place whose turn it is
  bool posting = false;                      ///< a thread is posting: it goes on with whatever comes
  bool aborted = false;                      ///< order no longer matters: everything goes to `inner`, which tells why
};

} // namespace npar::engine
