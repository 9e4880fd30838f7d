// Streams of one thread on several GPUs follow each other by events.
#include "engine/backends/cuda/program/DeviceOrder.h"

#include <algorithm>

namespace npar::engine::cuda {

namespace {

/// Completes when several GPUs are done; deletes itself then.
class AllDone final : public Completion {
public:
  AllDone(Completion &all, size_t parts, Status status) : all(all), left(parts), result(std::move(status)) {}
  void completed(const Status &status) override {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (result.ok())
        result = status;
      if (--left > 0)
        return;
    }
    std::unique_ptr<AllDone> self(this);
    all.completed(result);
  }

private:
  Completion &all;
  std::mutex mutex;
  size_t left;
  Status result;
};

} // namespace

DeviceOrder::~DeviceOrder() {
  for (size_t i = 0; i < events.size(); ++i)
    if (events[i]) {
      gpus[i]->gpu().enter();
      gpus[i]->gpu().cuda().call().eventDestroy(events[i]);
    }
}

void DeviceOrder::goOn(const std::vector<size_t> &on) {
  auto after = [](size_t follower, size_t leader) { return follower != leader; };
  for (size_t leader : newest) {
    if (std::none_of(on.begin(), on.end(), [&](size_t follower) { return after(follower, leader); }))
      continue;
    const Functions &call = gpus[leader]->gpu().cuda().call();
    ThreadWork &leads = gpus[leader]->threadWork();
    Handle stream = leads.begin();
    if (stream && !events[leader])
      leads.note(call.eventCreate(&events[leader], eventDisableTiming), "an event");
    if (!stream || !events[leader])
      continue; // `whenDone` says why
    leads.note(call.eventRecord(events[leader], stream), "an event");
    for (size_t follower : on)
      if (ThreadWork &follows = gpus[follower]->threadWork(); after(follower, leader))
        if (Handle behind = follows.begin())
          follows.note(call.streamWaitEvent(behind, events[leader], 0), "a wait for " + gpus[leader]->gpu().label());
  }
  newest = on;
  for (size_t device : on)
    used[device] = true;
}

void DeviceOrder::note(const Status &status) {
  if (failed.ok())
    failed = status;
}

void DeviceOrder::whenDone(Completion &completion) {
  size_t count = static_cast<size_t>(std::count(used.begin(), used.end(), true));
  std::vector<bool> waitedFor = std::exchange(used, std::vector<bool>(gpus.size()));
  Status status = std::exchange(failed, Status());
  newest.clear();
  if (count == 0 && !status.ok())
    return completion.completed(status);
  if (count == 0) // completions that were called before are over then
    return gpus[0]->whenDone(completion);
  bool alone = count == 1 && status.ok();
  Completion &each = alone ? completion : *new AllDone(completion, count, status);
  for (size_t i = 0; i < gpus.size(); ++i)
    if (waitedFor[i])
      gpus[i]->whenDone(each);
}

} // namespace npar::engine::cuda
