// Measures the cost of an event of the flight record, of which a step of 100 ms has some thousands. Prints nanoseconds of the thread's CPU
// time per event, the median of several runs. Usage: flight_benchmark
#include "engine/control/FlightRecord.h"
#include "tests/engine/runtime/PipelineProgram.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <unistd.h>
#include <vector>

using namespace npar;
using namespace npar::engine;

static double cpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

int main() {
  constexpr int events = 200000;
  FlightOptions options;
  options.folder = "/tmp/npar-flight-benchmark-" + std::to_string(::getpid()), options.host = "here";
  auto loaded = testing::pipelineProgram({})->load();
  std::vector<LocalRank> ranks = {{0, DeviceAddress()}};
  StepGraph graph = expandProgram(loaded->root(), ranks);
  Operations operations(loaded->root(), graph);
  auto record = FlightRecord::create(options);
  if (!record.ok() || !(*record)->open(loaded->root(), graph, operations).ok())
    return 1;
  std::vector<double> runs;
  for (int run = 0; run < 9; ++run) {
    double begin = cpuSeconds();
    for (int i = 0; i < events; ++i)
      (*record)->note({0, 0, 0, i, i, FlightEvent::Began});
    runs.push_back((cpuSeconds() - begin) / events);
  }
  std::sort(runs.begin(), runs.end());
  std::printf("%.1f\n", runs[runs.size() / 2] * 1e9);
  (*record)->discard();
  std::filesystem::remove_all(options.folder);
}
