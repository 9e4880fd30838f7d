// Runs each lane until its next task waits, then the lanes that were waiting for what it finished.
#include "compiler/cost/Timeline.h"

#include <algorithm>
#include <map>
#include <utility>

namespace npar::cost {

namespace {

class Simulation {
public:
  explicit Simulation(const TaskGraph &graph) : graph(graph), incoming(graph.kinds.size()) {
    for (const TaskGraph::Edge &edge : graph.edges)
      incoming[edge.to].push_back(edge);
  }

  Timeline run() {
    size_t lanes = graph.lanes.size();
    result.spans.resize(lanes);
    result.stuck.assign(lanes, 0);
    clock.assign(lanes, 0);
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
  using Instance = std::pair<int, int>; ///< kind, micro-batch

  /// Runs the tasks of a lane up to the first that waits for another.
  void advance(int lane) {
    const std::vector<TaskGraph::Task> &tasks = graph.lanes[lane];
    for (int &next = result.stuck[lane]; next < static_cast<int>(tasks.size()); ++next) {
      const TaskGraph::Task &task = tasks[next];
      double begin = clock[lane];
      for (const TaskGraph::Edge &edge : incoming[task.kind]) {
        auto source = ends.find({edge.from, task.micro});
        if (source == ends.end()) {
          waiting[{edge.from, task.micro}].push_back(lane);
          return;
        }
        begin = std::max(begin, source->second + edge.seconds);
      }
      double end = begin + graph.kinds[task.kind].seconds + task.extra;
      result.spans[lane][next] = {begin, end};
      clock[lane] = end;
      ends[{task.kind, task.micro}] = end;
      auto woken = waiting.find({task.kind, task.micro});
      if (woken == waiting.end())
        continue;
      ready.insert(ready.end(), woken->second.begin(), woken->second.end());
      waiting.erase(woken);
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
  std::vector<double> clock;                          ///< per lane: end of its last task
  std::map<Instance, double> ends;
  std::map<Instance, std::vector<int>> waiting; ///< lanes behind an instance that has not run
  std::vector<int> ready;
  Timeline result;
};

} // namespace

Timeline simulate(const TaskGraph &graph) { return Simulation(graph).run(); }

} // namespace npar::cost
