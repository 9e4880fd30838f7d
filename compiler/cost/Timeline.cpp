// Runs each lane until its next task waits, then the lanes that were waiting for what it finished.
#include "compiler/cost/SharedTimeline.h"

#include <algorithm>

namespace npar::cost {

namespace {

class Simulation {
public:
  explicit Simulation(const TaskGraph &graph)
      : graph(graph), incoming(graph.kinds.size()), first(graph.kinds.size() + 1, 0), clock(graph.lanes.size(), 0),
        nextWaiting(graph.lanes.size(), none) {
    for (const TaskGraph::Edge &edge : graph.edges)
      incoming[edge.to].push_back(edge);
    for (const std::vector<TaskGraph::Task> &tasks : graph.lanes)
      for (const TaskGraph::Task &task : tasks)
        first[task.kind + 1] = std::max(first[task.kind + 1], static_cast<size_t>(task.micro) + 1);
    for (size_t kind = 0; kind < graph.kinds.size(); ++kind)
      first[kind + 1] += first[kind];
    ends.assign(first.back(), notYet);
    waiting.assign(first.back(), none);
  }

  Timeline run() {
    size_t lanes = graph.lanes.size();
    result.spans.resize(lanes);
    result.stuck.assign(lanes, 0);
    for (size_t lane = 0; lane < lanes; ++lane) {
      result.spans[lane].resize(graph.lanes[lane].size());
      ready.push_back(lane);
    }
    while (!ready.empty()) {
      int lane = ready.back();
      ready.pop_back();
      advance(lane);
    }
    summarize();
    return std::move(result);
  }

private:
  static constexpr int none = -1;
  static constexpr double notYet = -1;

  /// Runs the tasks of a lane up to the first that waits for another.
  void advance(int lane) {
    const std::vector<TaskGraph::Task> &tasks = graph.lanes[lane];
    for (int &next = result.stuck[lane]; next < static_cast<int>(tasks.size()); ++next) {
      const TaskGraph::Task &task = tasks[next];
      double begin = clock[lane];
      for (const TaskGraph::Edge &edge : incoming[task.kind]) {
        size_t source = first[edge.from] + task.micro;
        if (source >= first[edge.from + 1])
          return; // no lane has it
        if (ends[source] == notYet) {
          nextWaiting[lane] = waiting[source];
          waiting[source] = lane;
          return;
        }
        begin = std::max(begin, ends[source] + edge.seconds);
      }
      double end = begin + graph.kinds[task.kind].seconds + task.extra;
      result.spans[lane][next] = {begin, end};
      clock[lane] = end;
      size_t instance = first[task.kind] + task.micro;
      ends[instance] = end;
      for (int &woken = waiting[instance]; woken != none; woken = nextWaiting[woken])
        ready.push_back(woken);
    }
  }

  void summarize() {
    result.complete = true;
    double busy = 0;
    for (size_t lane = 0; lane < graph.lanes.size(); ++lane) {
      result.complete &= result.stuck[lane] == static_cast<int>(graph.lanes[lane].size());
      result.makespan = std::max(result.makespan, clock[lane]);
      for (const TaskGraph::Task &task : graph.lanes[lane])
        busy += graph.kinds[task.kind].seconds + task.extra;
    }
    double all = result.makespan * graph.lanes.size();
    result.bubble = result.complete && all > 0 ? (all - busy) / all : 0;
  }

  const TaskGraph &graph;
  std::vector<std::vector<TaskGraph::Edge>> incoming; ///< per kind
  std::vector<size_t> first;                          ///< per kind: its instance of micro-batch 0 in `ends` and `waiting`
  std::vector<double> clock;                          ///< per lane: end of its last task
  std::vector<double> ends;                           ///< per instance
  std::vector<int> waiting;                           ///< per instance that has not run: the last lane that waits for it
  std::vector<int> nextWaiting;                       ///< per lane: the lane that has waited for the same instance since before it
  std::vector<int> ready;
  Timeline result;
};

} // namespace

Timeline simulate(const TaskGraph &graph) { return graph.cores > 0 ? simulateShared(graph) : Simulation(graph).run(); }

} // namespace npar::cost
