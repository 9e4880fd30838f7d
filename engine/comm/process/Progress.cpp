// The one thread of a process that calls its transport: it moves messages, does what others ask of it, and sleeps when there is nothing.
#include "engine/comm/process/Progress.h"

#include <algorithm>
#include <chrono>
#include <sys/prctl.h>

namespace npar::engine {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr nanoseconds longestWait = std::chrono::microseconds(500), longestIdle = std::chrono::milliseconds(2);
/// So long it polls: what an answer from the next core takes.
constexpr nanoseconds polls = std::chrono::microseconds(20);
constexpr nanoseconds tickEvery = std::chrono::milliseconds(20);
/// A thread that has not ended by then never will.
constexpr auto patience = std::chrono::seconds(2);

} // namespace

Result<std::shared_ptr<Progress>> Progress::start(OpenTransport open) {
  auto progress = std::make_shared<Progress>();
  progress->thread = std::thread([progress, open = std::move(open)] {
    ::prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL); // pauses of microseconds mean what they say
    progress->open(open);
    progress->loop();
  });
  std::unique_lock<std::mutex> lock(progress->mutex);
  progress->changed.wait(lock, [&] { return progress->state != Opening; });
  if (progress->state == Running)
    return progress;
  lock.unlock();
  progress->thread.join();
  return progress->result;
}

Result<std::shared_ptr<Progress>> Progress::withoutThread(const OpenTransport &open) {
  auto progress = std::make_shared<Progress>();
  progress->open(open);
  return progress->result.ok() ? Result<std::shared_ptr<Progress>>(std::move(progress)) : progress->result;
}

void Progress::open(const OpenTransport &open) {
  Result<std::unique_ptr<Transport>> opened = open();
  std::lock_guard<std::mutex> lock(mutex);
  result = opened.status();
  state = opened.ok() ? Running : Over;
  if (opened.ok()) {
    channel = std::move(*opened);
    name = channel->name(), count = channel->processes(), own = channel->process();
    where = channel->address();
  }
  changed.notify_all();
}

nanoseconds Progress::pause(nanoseconds quiet) const {
  if (hasHalted())
    return longestIdle;
  if (quiet < polls)
    return nanoseconds(0);
  return std::min(quiet / 8, expected.load(std::memory_order_relaxed) > 0 ? longestWait : longestIdle);
}

bool Progress::work(std::vector<Job> &taken) {
  bool busy = !taken.empty();
  for (Job &job : taken)
    job();
  taken.clear();
  if (!hasHalted())
    busy |= channel->progress();
  return busy;
}

bool Progress::step() {
  std::vector<Job> taken;
  takeJobs(taken, nanoseconds(0));
  return work(taken);
}

void Progress::loop() {
  if (state == Over)
    return;
  std::vector<Job> taken;
  Clock::time_point moved = Clock::now(), ticked = moved;
  for (nanoseconds wait(0); takeJobs(taken, wait);) {
    bool busy = work(taken);
    Clock::time_point now = Clock::now();
    if (busy)
      moved = now;
    else if (tick && now - ticked > tickEvery)
      ticked = now, tick();
    wait = busy ? nanoseconds(0) : pause(now - moved);
    if (!busy && wait == nanoseconds(0))
      std::this_thread::yield();
  }
  Status left;
  if (leaving && !hasHalted())
    left = channel->leave();
  std::lock_guard<std::mutex> lock(mutex);
  result = left;
  state = Over;
  changed.notify_all();
}

bool Progress::takeJobs(std::vector<Job> &taken, nanoseconds wait) {
  std::unique_lock<std::mutex> lock(mutex);
  if (wait > nanoseconds(0))
    wake.wait_for(lock, wait, [&] { return stopping || !jobs.empty(); });
  taken.swap(jobs);
  return !stopping || !taken.empty();
}

void Progress::run(Job job) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    jobs.push_back(std::move(job));
  }
  wake.notify_one();
}

bool Progress::runAndWait(Job job, double seconds) {
  auto done = std::make_shared<bool>(false);
  run([self = shared_from_this(), done, job = std::move(job)] {
    job();
    std::lock_guard<std::mutex> lock(self->mutex);
    *done = true;
    self->changed.notify_all();
  });
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return *done || state == Over; });
  return *done;
}

Status Progress::end(bool leave) {
  std::unique_lock<std::mutex> lock(mutex);
  if (!thread.joinable())
    return {};
  stopping = true, leaving = leave;
  wake.notify_one();
  auto over = [&] { return state == Over; };
  if (leave)
    changed.wait(lock, over);
  else
    changed.wait_for(lock, patience, over);
  Status status = result;
  bool ended = state == Over;
  lock.unlock();
  if (ended)
    thread.join();
  else
    thread.detach(); // it keeps this object alive
  return status;
}

} // namespace npar::engine
