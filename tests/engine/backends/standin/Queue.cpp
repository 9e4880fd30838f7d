// Chooses at random among what may run, and when.
#include "tests/engine/backends/standin/Device.h"

#include <algorithm>
#include <cstdio>

namespace npar::standin {

namespace {
constexpr auto pollInterval = std::chrono::microseconds(50); ///< of memory that work waits for
} // namespace

void Device::fail(Outcome outcome) {
  if (failed != Code::Success)
    return;
  failed = outcome.code;
  message = outcome.message;
  std::fprintf(stderr, "stand-in for CUDA: device %d: %s: %s\n", number, nameOf(outcome.code), outcome.message.c_str());
}

Queue::Queue(const Settings &settings) : faults(settings.faults), random(settings.seed), thread([this] { runAll(); }) {}

Queue::~Queue() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
    woken.notify_all();
  }
  thread.join();
  while (!ready.empty()) { // one by one: a chain of them would end in a recursion as long
    std::vector<WorkPointer> after = std::move(ready.back()->after);
    ready.pop_back();
    ready.insert(ready.end(), after.begin(), after.end());
  }
}

// Held work waits for some time or some queries. Often enough it continues at once.
void Queue::hold(bool always) {
  if (!always && draw(16) != 0)
    return;
  heldUntil = Clock::now() + std::chrono::microseconds(draw(3) == 0 ? draw(100) : 100 + draw(2500));
  patience = static_cast<int>(1 + draw(8));
}

WorkPointer Queue::add(Device &device, std::vector<WorkPointer> before, std::function<Outcome()> action, std::function<bool()> condition) {
  auto work = std::make_shared<Work>();
  work->device = &device;
  work->action = std::move(action);
  work->condition = std::move(condition);
  for (WorkPointer &earlier : before)
    if (earlier && !earlier->ended) {
      earlier->after.push_back(work);
      work->before.push_back(earlier.get());
    }
  if (work->before.empty()) {
    if (ready.empty())
      hold(true);
    ready.push_back(work);
    woken.notify_all();
  }
  return work;
}

// Marks what must end first.
void Queue::want(const WorkPointer &work) {
  std::vector<Work *> next{work.get()};
  while (!next.empty()) {
    Work *one = next.back();
    next.pop_back();
    if (one->wanted || one->ended)
      continue;
    one->wanted = true;
    next.insert(next.end(), one->before.begin(), one->before.end());
  }
}

void Queue::wait(std::unique_lock<std::mutex> &lock, WorkPointer work) {
  if (!work)
    return;
  if (!work->ended) {
    want(work);
    ++work->waiting;
    ++waiting;
    woken.notify_all();
    changed.wait(lock, [&] { return work->ended; });
  }
  see(*work);
}

bool Queue::query(const WorkPointer &work) {
  if (!work)
    return true;
  if (!work->ended) {
    if (--patience <= 0) {
      heldUntil = {};
      woken.notify_all();
    }
    return false;
  }
  if (work->number > seen && work->denials-- > 0)
    return false;
  see(*work);
  return true;
}

// Work that is waited for runs first three times out of four, so that usually nothing else has run when the wait is over.
size_t Queue::choose() {
  std::vector<size_t> can, wanted;
  for (size_t i = 0; i < ready.size(); ++i) {
    const Work &work = *ready[i];
    if (work.condition && work.device->failed == Code::Success && !work.condition())
      continue;
    can.push_back(i);
    if (work.wanted)
      wanted.push_back(i);
  }
  const std::vector<size_t> &from = !wanted.empty() && draw(4) != 0 ? wanted : can;
  return from.empty() ? ready.size() : from[draw(from.size())];
}

void Queue::finish(const WorkPointer &work) {
  work->ended = true;
  work->number = ++ended;
  work->denials = static_cast<int>(draw(4));
  work->time = Clock::now();
  work->action = nullptr;
  for (const WorkPointer &later : work->after) {
    std::vector<Work *> &before = later->before;
    before.erase(std::find(before.begin(), before.end(), work.get())); // once for each time that it is listed
    if (before.empty())
      ready.push_back(later);
  }
  work->after.clear();
  if (work->waiting) {
    waiting -= work->waiting;
    changed.notify_all();
    if (waiting == 0)
      hold(true);
  }
}

void Queue::runAll() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopping) {
    if (ready.empty()) {
      woken.wait(lock);
      continue;
    }
    if (waiting == 0 && Clock::now() < heldUntil) {
      woken.wait_until(lock, heldUntil);
      continue;
    }
    size_t place = choose();
    if (place == ready.size()) {
      woken.wait_for(lock, pollInterval);
      continue;
    }
    WorkPointer work = ready[place];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(place));
    Device &device = *work->device;
    if (work->action && device.failed == Code::Success) {
      ++operations;
      if (faults.lostAfter && operations >= faults.lostAfter) {
        device.fail({Code::DeviceUnavailable, "lost on purpose at operation " + std::to_string(operations)});
      } else if (faults.eccAfter && operations >= faults.eccAfter) {
        device.fail({Code::EccUncorrectable, "failed on purpose at operation " + std::to_string(operations)});
      } else {
        lock.unlock();
        Outcome outcome = work->action();
        lock.lock();
        if (outcome.code != Code::Success)
          device.fail(std::move(outcome));
      }
    }
    finish(work);
    hold(false);
  }
}

} // namespace npar::standin
