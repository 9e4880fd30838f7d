// A communicator that fails, delays or drops chosen operations of another one: faults for tests.
#pragma once

#include "engine/comm/Communicator.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace npar::engine {

struct Fault {
  enum Kind { Fail, Delay, Drop } kind = Fail;
  int64_t rank = -1;  ///< -1: any
  int64_t event = -1; ///< -1: any
  int64_t micro = -1; ///< -1: any
  double seconds = 0; ///< of Delay
};

/// Fail: the operation never reaches the others, its completion gets an error. Drop: it vanishes, nobody is told. Delay: it is posted
/// later, from another thread.
class FaultyCommunicator final : public Communicator {
public:
  FaultyCommunicator(Communicator &inner, std::vector<Fault> faults);
  ~FaultyCommunicator() override;
  Status prepare(const CommunicationPlan &plan) override { return inner.prepare(plan); }
  bool needsOrder() const override { return inner.needsOrder(); }
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
  void runDelayed();

  Communicator &inner;
  std::vector<Fault> faults;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Delayed> delayed;
  std::vector<Operation> dropped;
  bool stopping = false, aborted = false;
  std::thread timer;
};

} // namespace npar::engine
