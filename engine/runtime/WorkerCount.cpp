// Computes the number of workers of a session, and how its backend may spread a step over them.
#include "engine/runtime/WorkerCount.h"

#include <mutex>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <pthread.h>
#include <string>
#include <vector>

namespace npar::engine {
namespace {

void *passThrough(void *gate) {
  std::lock_guard<std::mutex> open(*static_cast<std::mutex *>(gate));
  return nullptr;
}

} // namespace

int workerCount(int asked) { return asked > 0 ? asked : tbb::info::default_concurrency(); }

Status checkWorkers(int workers) {
  static std::mutex oneAtATime;
  static int proven = 1;
  std::lock_guard<std::mutex> lock(oneAtATime);
  if (workers <= proven)
    return {};
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, tbb::global_control::active_value(tbb::global_control::thread_stack_size));
  std::mutex gate;
  std::vector<pthread_t> threads;
  int error = 0;
  {
    std::lock_guard<std::mutex> closed(gate); // so that all are there at once
    while (static_cast<int>(threads.size()) + 1 < workers && error == 0) {
      pthread_t thread;
      error = ::pthread_create(&thread, &attributes, passThrough, &gate);
      if (error == 0)
        threads.push_back(thread);
    }
  }
  for (pthread_t thread : threads)
    ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (error != 0)
    return Status::runFailed("the system starts " + std::to_string(threads.size() + 1) + " threads of " + std::to_string(workers) +
                             " requested threads: use fewer, or check 'ulimit -u', 'ulimit -v' and container limits");
  proven = workers;
  return {};
}

Spread spreadOf(int64_t ranks, int workers) {
  Spread spread;
  spread.threads = workers, spread.splitSteps = workers > 1 && ranks < 2 * workers, spread.ranks = ranks;
  return spread;
}

} // namespace npar::engine
