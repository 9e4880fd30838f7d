// Runs the step graph once per training step on the workers of a oneTBB arena; asynchronous work never blocks a worker.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/device/Backend.h"
#include "engine/logging/Trace.h"
#include "engine/runtime/Clock.h"
#include "engine/runtime/Operations.h"
#include "engine/runtime/StepGraph.h"
#include "engine/runtime/StepObserver.h"
#include "engine/status/Status.h"

#include <memory>
#include <vector>

namespace npar::engine {

struct ExecutorOptions {
  int threads = 1;
  uint64_t seed = 0;
  double timeoutSeconds = 300;
  Trace *trace = nullptr; ///< not owned; each step then waits for the one before it, also on a device with streams
  bool record = false;    ///< if the device supports it, pieces of lanes start as single launches from the second run on, and progress is
                          ///< seen per piece
  StepObserver *observer = nullptr; ///< not owned; outlives the executor
};

class Executor {
public:
  /// Cuts the graph into chains; sets the completions of the operations. Everything referred to must outlive the executor.
  Executor(const program::Program &program, const StepGraph &graph, Operations &operations, Backend &backend, Communicator &communicator,
           const Clock &clock, const ExecutorOptions &options);
  ~Executor();
  /// Sets the words of the run (program/RateWords.h) between steps, all of them.
  void setRunWords(const std::vector<double> &words);
  /// One training step of the graph's ranks. After a failure every further call returns the same error.
  Status run(int64_t step);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace npar::engine
