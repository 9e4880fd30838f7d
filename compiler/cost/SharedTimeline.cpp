// Time goes from one end of a task to the next: between them the tasks that run have what the cores give, all in the same proportion.
#include "compiler/cost/SharedTimeline.h"

#include <algorithm>
#include <limits>
#include <map>

namespace npar::cost {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

class SharedSimulation {
public:
  explicit SharedSimulation(const TaskGraph &graph)
      : graph(graph), incoming(graph.kinds.size()), runs(graph.lanes.size(), false), left(graph.lanes.size(), 0) {
    for (const TaskGraph::Edge &edge : graph.edges)
      incoming[edge.to].push_back(edge);
    result.stuck.assign(graph.lanes.size(), 0);
    for (const std::vector<TaskGraph::Task> &tasks : graph.lanes)
      result.spans.emplace_back(tasks.size());
  }

  Timeline run() {
    for (double now = 0; now < never;) {
      for (size_t lane = 0; lane < graph.lanes.size(); ++lane)
        if (!runs[lane] && readyAt(lane) <= now)
          begin(lane, now);
      // The next moment at which something changes: a task ends, or what a lane waits for arrives.
      double speed = speedNow(), next = never;
      for (size_t lane = 0; lane < graph.lanes.size(); ++lane)
        next = std::min(next, runs[lane] ? now + left[lane] / speed : readyAt(lane));
      if (next == never)
        break;
      for (size_t lane = 0; lane < graph.lanes.size(); ++lane)
        if (runs[lane] && now + left[lane] / speed <= next)
          end(lane, next);
        else if (runs[lane])
          left[lane] -= (next - now) * speed;
      now = next;
    }
    summarize();
    return std::move(result);
  }

private:
  const TaskGraph &graph;
  std::vector<std::vector<TaskGraph::Edge>> incoming;
  std::vector<bool> runs;                     ///< per lane: its task `stuck` is under way
  std::vector<double> left;                   ///< per lane: seconds of it that are left where nothing else runs
  std::map<std::pair<int, int>, double> ends; ///< by kind and micro-batch
  double busy = 0;
  Timeline result;

  /// The time when the lane's next task can begin; `never` while it waits for a task that has not ended.
  double readyAt(size_t lane) const {
    if (result.stuck[lane] == static_cast<int>(graph.lanes[lane].size()))
      return never;
    const TaskGraph::Task &task = graph.lanes[lane][result.stuck[lane]];
    double ready = 0;
    for (const TaskGraph::Edge &edge : incoming[task.kind]) {
      auto ended = ends.find({edge.from, task.micro});
      if (ended == ends.end())
        return never;
      ready = std::max(ready, ended->second + edge.seconds);
    }
    return ready;
  }

  double speedNow() const {
    double wanted = 0;
    for (size_t lane = 0; lane < graph.lanes.size(); ++lane)
      if (runs[lane])
        wanted += graph.ranksPerLane * graph.kinds[graph.lanes[lane][result.stuck[lane]].kind].cores;
    return wanted > graph.cores ? graph.cores / wanted : 1;
  }

  void begin(size_t lane, double now) {
    const TaskGraph::Task &task = graph.lanes[lane][result.stuck[lane]];
    result.spans[lane][result.stuck[lane]].begin = now;
    left[lane] = graph.kinds[task.kind].seconds + task.extra;
    runs[lane] = true;
  }

  void end(size_t lane, double now) {
    const TaskGraph::Task &task = graph.lanes[lane][result.stuck[lane]];
    Span &span = result.spans[lane][result.stuck[lane]++];
    span.end = now;
    busy += span.end - span.begin;
    ends[{task.kind, task.micro}] = now;
    runs[lane] = false;
  }

  void summarize() {
    result.complete = true;
    for (size_t lane = 0; lane < graph.lanes.size(); ++lane) {
      result.complete &= result.stuck[lane] == static_cast<int>(graph.lanes[lane].size());
      if (result.stuck[lane] > 0)
        result.makespan = std::max(result.makespan, result.spans[lane][result.stuck[lane] - 1].end);
    }
    double all = result.makespan * graph.lanes.size();
    result.bubble = result.complete && all > 0 ? (all - busy) / all : 0;
  }
};

} // namespace

Timeline simulateShared(const TaskGraph &graph) { return SharedSimulation(graph).run(); }

} // namespace npar::cost
