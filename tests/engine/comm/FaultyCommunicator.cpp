// A communicator that fails, delays or drops chosen operations of another one: faults for tests.
#include "tests/engine/comm/FaultyCommunicator.h"

#include <algorithm>
#include <chrono>

namespace npar::engine {

namespace {
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
} // namespace

FaultyCommunicator::FaultyCommunicator(Communicator &inner, std::vector<Fault> faults)
    : inner(inner), faults(std::move(faults)), timer([this] { runDelayed(); }) {}

FaultyCommunicator::~FaultyCommunicator() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  timer.join();
}

void FaultyCommunicator::post(const Operation &operation) {
  auto matches = [&](const Fault &fault) {
    return (fault.rank < 0 || fault.rank == operation.rank()) && (fault.event < 0 || fault.event == operation.event) &&
           (fault.micro < 0 || fault.micro == operation.micro);
  };
  auto fault = std::find_if(faults.begin(), faults.end(), matches);
  if (fault == faults.end())
    return inner.post(operation);
  if (fault->kind == Fault::Fail)
    return operation.completion->completed(Status::runFailed("injected failure"));
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (fault->kind == Fault::Delay)
      delayed.push_back({now() + fault->seconds, operation});
    else if (!aborted)
      dropped.push_back(operation);
    else
      fault = faults.end(); // the inner one tells why
  }
  if (fault == faults.end())
    return inner.post(operation);
  wake.notify_all();
}

void FaultyCommunicator::abort(const Status &status) {
  inner.abort(status);
  std::vector<Operation> lost;
  {
    std::lock_guard<std::mutex> lock(mutex);
    aborted = true;
    lost.swap(dropped);
  }
  for (const Operation &operation : lost)
    operation.completion->completed(status);
}

void FaultyCommunicator::runDelayed() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopping || !delayed.empty()) {
    auto next = std::min_element(delayed.begin(), delayed.end(), [](const Delayed &a, const Delayed &b) { return a.until < b.until; });
    if (next == delayed.end()) {
      wake.wait(lock);
      continue;
    }
    double wait = next->until - now();
    if (wait > 0 && !stopping) {
      wake.wait_for(lock, std::chrono::duration<double>(wait));
      continue;
    }
    Operation operation = next->operation;
    delayed.erase(next);
    lock.unlock();
    inner.post(operation);
    lock.lock();
  }
}

} // namespace npar::engine
