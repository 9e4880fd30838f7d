// A communicator that fails, delays or drops chosen operations of another one, for tests.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/device/Backend.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace npar::engine {

struct Fault {
  enum Kind { Fail, Delay, Drop, Skip, Duplicate, Resize, Corrupt } kind = Fail;
  int64_t rank = -1;  ///< -1: any
  int64_t event = -1; ///< -1: any
  int64_t micro = -1; ///< -1: any
  double seconds = 0; ///< for Delay
  int64_t at = -1;    ///< number, from 0, of the broken operation among those that match; -1: all are broken
};

/// Fail: the operation never reaches the others, its completion gets an error. Drop: it vanishes without an error. Delay: it is posted
/// later, from another thread. Skip: the rank continues as if the operation were done. Duplicate: it is posted twice. Resize: it has one
/// element more than the program's. Corrupt: a bit of the first float of its result is flipped when it is done, in memory of `backend`.
class FaultyCommunicator final : public Communicator {
public:
  FaultyCommunicator(Communicator &inner, std::vector<Fault> faults, Backend *backend = nullptr);
  ~FaultyCommunicator() override;
  Status prepare(const CommunicationPlan &plan) override { return inner.prepare(plan); }
  bool needsOrder() const override { return inner.needsOrder(); }
  void beginStep(int64_t trainingStep) override { inner.beginStep(trainingStep); }
  void post(const Operation &operation) override;
  void abort(const Status &status) override;
  std::vector<PendingOperation> pending() const override { return inner.pending(); }
  Status abortedElsewhere() const override { return inner.abortedElsewhere(); }
  Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own, double timeoutSeconds) override {
    return inner.gather(own, timeoutSeconds);
  }

private:
  struct Delayed {
    double until;
    Operation operation;
  };
  struct Ignored final : Completion {
    void completed(const Status &) override {}
  };
  struct Corrupting final : Completion {
    Corrupting(Backend &backend, const Operation &operation) : backend(backend), output(operation.output), told(*operation.completion) {}
    void completed(const Status &status) override;
    Backend &backend;
    DeviceAddress output;
    Completion &told;
  };
  /// The fault that breaks this operation; null if none does.
  const Fault *faultOf(const Operation &operation);
  void runDelayed();

  Communicator &inner;
  std::vector<Fault> faults;
  std::vector<int64_t> matches; ///< number of operations that have matched, by fault
  Backend *backend;
  Ignored ignored;
  std::deque<Corrupting> corrupting;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Delayed> delayed;
  std::vector<Operation> dropped;
  bool stopping = false, aborted = false;
  std::thread timer;
};

/// A LocalCommunicator with faults, for ranks that are all in one session.
std::shared_ptr<Communicator> faultyInMemory(Backend &backend, std::vector<Fault> faults);

} // namespace npar::engine
