// The event simulation of task lists: lanes run their tasks in order, a task waits for the tasks that it depends on.
#pragma once

#include <vector>

namespace npar::cost {

/// Every lane (a pipeline stage) runs instances of kinds of tasks (a fragment) for micro-batches; dependencies are given per kind,
/// so the description does not grow with the number of micro-batches.
struct TaskGraph {
  struct Kind {
    double seconds = 0; ///< length if nothing else runs
    double cores = 1;   ///< number of cores that it keeps busy
  };
  /// An instance of `to` starts at the earliest `seconds` after the end of the instance of `from` with the same micro-batch.
  struct Edge {
    int from = 0, to = 0;
    double seconds = 0; ///< of the message
  };
  struct Task {
    int kind = 0;
    int micro = 0;    ///< not negative; 0 for tasks that run once per training step
    double extra = 0; ///< seconds on top of those of the kind
  };
  std::vector<Kind> kinds;
  std::vector<Edge> edges;
  std::vector<std::vector<Task>> lanes;
  /// Cores that the lanes share: tasks that want more together run slower, all in the same proportion. 0: each lane has its own.
  double cores = 0;
  double ranksPerLane = 1; ///< ranks that share these cores per lane; all of them do the same at the same time
};

struct Span {
  double begin = 0, end = 0;
};

struct Timeline {
  /// False when lanes wait for each other for ever, or for a task that no lane has; then the spans from `stuck[lane]` on are not set.
  bool complete = false;
  std::vector<std::vector<Span>> spans; ///< per lane and task
  std::vector<int> stuck;               ///< per lane: place of the task that never starts; its length when it came through
  double makespan = 0;                  ///< end of the last task
  /// (makespan * lanes - busy time) / (makespan * lanes): the share of all lanes' time in which they wait.
  double bubble = 0;
};

/// Time grows with tasks and their edges, memory with the greatest micro-batch of each kind. Messages take no time of the lanes and never
/// block the sender.
Timeline simulate(const TaskGraph &graph);

} // namespace npar::cost
