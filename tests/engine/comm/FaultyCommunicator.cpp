// A communicator that fails, delays or drops chosen operations of another one: faults for tests.
#include "tests/engine/comm/FaultyCommunicator.h"

#include "engine/comm/local/LocalCommunicator.h"

#include <algorithm>
#include <chrono>

namespace npar::engine {

namespace {
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
} // namespace

FaultyCommunicator::FaultyCommunicator(Communicator &inner, std::vector<Fault> faults, Backend *backend)
    : inner(inner), faults(std::move(faults)), matches(this->faults.size(), 0), backend(backend), timer([this] { runDelayed(); }) {}

void FaultyCommunicator::Corrupting::completed(const Status &status) {
  uint8_t byte = 0; // the last but one of a float: bits of its mantissa
  backend.copyOut(&byte, output + 2, 1);
  (void)waitUntilDone(backend);
  byte ^= 0x40;
  backend.copyIn(output + 2, &byte, 1);
  (void)waitUntilDone(backend);
  told.completed(status);
}

FaultyCommunicator::~FaultyCommunicator() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  timer.join();
}

const Fault *FaultyCommunicator::faultOf(const Operation &operation) {
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = 0; i < faults.size(); ++i) {
    const Fault &fault = faults[i];
    if ((fault.rank < 0 || fault.rank == operation.rank()) && (fault.event < 0 || fault.event == operation.event) &&
        (fault.micro < 0 || fault.micro == operation.micro))
      if (int64_t match = matches[i]++; fault.at < 0 || fault.at == match)
        return &fault;
  }
  return nullptr;
}

void FaultyCommunicator::post(const Operation &operation) {
  const Fault *fault = faultOf(operation);
  if (!fault)
    return inner.post(operation);
  switch (fault->kind) {
  case Fault::Fail:
    return operation.completion->completed(Status::runFailed("injected failure"));
  case Fault::Skip:
    return operation.completion->completed({});
  case Fault::Duplicate: {
    inner.post(operation);
    Operation again = operation;
    again.completion = &ignored;
    return inner.post(again);
  }
  case Fault::Resize: {
    Operation larger = operation;
    ++larger.count, ++larger.split;
    return inner.post(larger);
  }
  case Fault::Corrupt: {
    Operation wrong = operation;
    {
      std::lock_guard<std::mutex> lock(mutex);
      wrong.completion = &corrupting.emplace_back(*backend, operation);
    }
    return inner.post(wrong);
  }
  case Fault::Delay: {
    std::lock_guard<std::mutex> lock(mutex);
    delayed.push_back({now() + fault->seconds, operation});
    return wake.notify_all();
  }
  case Fault::Drop:
    break;
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!aborted)
      return dropped.push_back(operation);
  }
  inner.post(operation); // it tells why
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

std::shared_ptr<Communicator> faultyInMemory(Backend &backend, std::vector<Fault> faults) {
  struct Both {
    Both(Backend &backend, std::vector<Fault> faults) : local(backend), faulty(local, std::move(faults), &backend) {}
    LocalCommunicator local;
    FaultyCommunicator faulty;
  };
  auto both = std::make_shared<Both>(backend, std::move(faults));
  return {both, &both->faulty};
}

} // namespace npar::engine
