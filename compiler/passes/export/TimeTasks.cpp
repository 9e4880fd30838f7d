// Planned times of tasks: all stages simulated together from the costs of their steps and messages.
#include "compiler/cost/Timeline.h"
#include "compiler/memory/StepClock.h"
#include "compiler/passes/export/ReadPipe.h"
#include "engine/program/Steps.h"

#include <algorithm>
#include <map>

namespace npar::compiler {

void timeTasks(const Tables &tables, mlir::MutableArrayRef<memory::ClassModel> classes) {
  cost::TaskGraph graph;
  if (tables.together > 1)
    graph.cores = tables.capacity, graph.ranksPerLane = tables.together / static_cast<double>(classes.size());
  std::map<uint32_t, std::pair<int, double>> senders; // event -> kind of task, seconds
  std::vector<std::pair<uint32_t, int>> receivers;
  std::vector<int> firstKind;
  for (const memory::ClassModel &model : classes) {
    firstKind.push_back(static_cast<int>(graph.kinds.size()));
    for (const memory::FragmentModel &fragment : model.fragments) {
      int kind = static_cast<int>(graph.kinds.size());
      double work = 0;
      memory::StepClock clock(fragment);
      for (const memory::Action &action : fragment.actions) {
        bool message = action.kind == program::StepKind::Send || action.kind == program::StepKind::Receive;
        if (!message)
          clock.time(action);
        work += message || action.lane != memory::Lane::Compute ? 0 : action.seconds * action.cores;
        // Messages of the update go both ways between two fragments: no order of whole tasks (TimeUpdates.cpp).
        if (!message || !program::runsPerMicro(fragment.phase))
          continue;
        if (action.kind == program::StepKind::Send)
          for (uint32_t event : fragment.values[action.inputs[0]].sent)
            senders[event] = {kind, action.seconds};
        else
          receivers.emplace_back(fragment.values[action.outputs[0]].event, kind);
      }
      const double seconds = clock.end();
      graph.kinds.push_back({seconds, seconds > 0 ? work / seconds : 1});
    }
  }
  for (auto [event, kind] : receivers)
    if (auto found = senders.find(event); found != senders.end())
      graph.edges.push_back({found->second.first, kind, found->second.second});
  for (size_t index = 0; index < classes.size(); ++index) {
    graph.lanes.emplace_back();
    for (const memory::TaskModel &task : classes[index].tasks)
      graph.lanes.back().push_back({firstKind[index] + static_cast<int>(task.fragment), static_cast<int>(task.micro)});
  }
  cost::Timeline timeline = cost::simulate(graph);
  if (!timeline.complete)
    return; // the deadlock check words what is wrong
  for (size_t index = 0; index < classes.size(); ++index)
    for (size_t task = 0; task < classes[index].tasks.size(); ++task) {
      classes[index].tasks[task].begin = timeline.spans[index][task].begin;
      classes[index].tasks[task].end = timeline.spans[index][task].end;
    }
}

} // namespace npar::compiler
