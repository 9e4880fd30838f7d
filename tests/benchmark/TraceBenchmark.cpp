// Measures the cost of recording one step: two clock readings and an event, as in the executor. Prints nanoseconds of the thread's CPU time
// per step, the median of several runs. Usage: trace_benchmark
#include "engine/logging/Trace.h"
#include "engine/runtime/Clock.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

using namespace npar::engine;

static double cpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main() {
  constexpr uint32_t steps = 1 << 18;
  SystemClock clock;
  std::vector<double> runs;
  for (int run = 0; run < 9; ++run) {
    Trace trace(steps);
    double begin = cpuSeconds();
    for (uint32_t step = 0; step < steps; ++step) {
      double started = clock.now();
      trace.record({0, 0, 0, 0, step, 0, 0, started, clock.now()});
    }
    runs.push_back((cpuSeconds() - begin) / steps);
    if (trace.dropped())
      return 1;
  }
  std::sort(runs.begin(), runs.end());
  std::printf("%.1f\n", runs[runs.size() / 2] * 1e9);
}
