// One thread that asks events and calls completions.
#include "engine/backends/cuda/driver/Completions.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace npar::engine::cuda {

void deliver(const std::vector<Arrival> &arrivals) {
  for (const Arrival &arrival : arrivals)
    std::memcpy(arrival.target, arrival.staged, arrival.bytes);
}

Completions::Completions(const CudaDevice &device) : device(device), thread([this] { run(); }) {}

Completions::~Completions() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  thread.join();
  device.enter();
  for (Handle event : idleEvents)
    device.cuda().call().eventDestroy(event);
}

size_t Completions::addQueue() {
  std::lock_guard<std::mutex> lock(mutex);
  queues.emplace_back();
  return queues.size() - 1;
}

void Completions::whenDone(size_t queue, Handle stream, Completion &completion, Status status, std::vector<Arrival> arrivals) {
  const Functions &call = device.cuda().call();
  Handle event = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!idleEvents.empty()) {
      event = idleEvents.back();
      idleEvents.pop_back();
    }
  }
  Code code = event ? Code::Success : call.eventCreate(&event, eventDisableTiming);
  if (code == Code::Success)
    code = call.eventRecord(event, stream);
  if (code != Code::Success) {
    if (status.ok())
      status = device.cuda().check(code, device.label() + " failed");
    return completion.completed(status);
  }
  std::lock_guard<std::mutex> lock(mutex);
  queues[queue].entries.push_back({event, &completion, std::move(status), std::move(arrivals)});
  ++pending;
  wake.notify_one(); // under the lock: once it is completed all this may go
}

void Completions::waitForDeliveries(size_t queue) {
  std::unique_lock<std::mutex> lock(mutex);
  delivered.wait(lock, [&] { return queues[queue].entries.empty() && !queues[queue].delivering; });
}

/// Completes the oldest entry of a queue if it is done; the lock is free meanwhile.
bool Completions::ask(Queue &queue, std::unique_lock<std::mutex> &lock) {
  Handle event = queue.entries.front().event;
  lock.unlock();
  Code code = device.cuda().call().eventQuery(event);
  lock.lock();
  if (code == Code::NotReady)
    return false;
  Entry entry = std::move(queue.entries.front());
  queue.entries.pop_front();
  idleEvents.push_back(event);
  queue.delivering = true;
  --pending;
  lock.unlock();
  if (code != Code::Success && entry.status.ok())
    entry.status = device.cuda().check(code, device.label() + " was lost in the middle of the run");
  if (code == Code::Success)
    deliver(entry.arrivals);
  lock.lock();
  queue.delivering = false;
  delivered.notify_all();
  lock.unlock();
  entry.completion->completed(entry.status);
  lock.lock();
  return true;
}

void Completions::run() {
  using Clock = std::chrono::steady_clock;
  device.enter();
  auto news = Clock::now();
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    if (pending == 0) {
      wake.wait(lock, [&] { return stopping || pending > 0; });
      news = Clock::now();
    }
    if (pending == 0)
      return;
    bool any = false;
    for (size_t i = 0; i < queues.size(); ++i)
      while (!queues[i].entries.empty() && ask(queues[i], lock))
        any = true;
    auto now = Clock::now();
    if (any)
      news = now;
    auto quiet = std::chrono::duration_cast<std::chrono::microseconds>(now - news);
    lock.unlock();
    if (quiet.count() < 100)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::min<std::chrono::microseconds>(quiet / 8, std::chrono::microseconds(500)));
    lock.lock();
  }
}

} // namespace npar::engine::cuda
