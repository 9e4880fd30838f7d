// Builds the merged event graph over classes, sorts it, and words the shortest cycle when there is one.
#include "engine/program/Deadlock.h"

#include "engine/program/Checks.h"
#include "engine/program/Mesh.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

namespace npar::program {
namespace {

struct StepInstance {
  uint32_t rankClass, task, step; // step == number of steps: the end of the task's compute steps
};

class EventGraph {
public:
  EventGraph(const Program &program, bool withCommunicationOrder) : program(program) {
    number();
    merge();
    connect(withCommunicationOrder);
  }

  /// Visits nodes in topological order, the earliest planned first; returns whether all were visited.
  template <typename Visit> bool sort(Visit visit) {
    using Entry = std::tuple<double, uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
    std::vector<double> begin(instances.size());
    // A message begins when its sender is ready, a collective when its last member is.
    for (uint32_t node = 0; node < instances.size(); ++node)
      if (isTaskEnd(node) || stepOf(node).kind() != StepKind::Receive)
        begin[events[node]] = std::max(begin[events[node]], beginOf(node));
    uint32_t wanted = 0, visited = 0;
    for (uint32_t node = 0; node < instances.size(); ++node) {
      wanted += events[node] == node;
      if (events[node] == node && waiting[node] == 0)
        ready.emplace(begin[node], node);
    }
    while (!ready.empty()) {
      uint32_t node = std::get<1>(ready.top());
      ready.pop();
      ++visited;
      visit(node);
      for (uint32_t i = start[node]; i < start[node + 1]; ++i)
        if (--waiting[successors[i]] == 0)
          ready.emplace(begin[successors[i]], successors[i]);
    }
    return visited == wanted;
  }

  /// After an incomplete sort: the shortest cycle through a communication event (every cycle has one).
  std::string describeCycle() {
    std::vector<uint32_t> best;
    uint32_t tried = 0;
    for (uint32_t node = 0; node < instances.size() && tried < 256; ++node) {
      if (events[node] != node || waiting[node] == 0 || !isCommunication(node))
        continue;
      ++tried;
      std::vector<uint32_t> cycle = shortestCycle(node);
      if (!cycle.empty() && (best.empty() || cycle.size() < best.size()))
        best = cycle;
    }
    std::vector<std::string> lines;
    for (uint32_t node : best)
      if (!isTaskEnd(node))
        lines.push_back(describeNode(node));
    std::string text = "a cycle of " + std::to_string(lines.size()) + " steps, each waits for the next:";
    for (const std::string &line : lines)
      text += "\n  " + line;
    return text;
  }

  const StepInstance &at(uint32_t node) const { return instances[node]; }
  const std::vector<uint32_t> &membersOf(uint32_t node) { return members[node]; }
  bool isCommunication(uint32_t node) const {
    if (isTaskEnd(node))
      return false;
    StepKind kind = stepOf(node).kind();
    return kind == StepKind::Send || kind == StepKind::Receive || kind == StepKind::Collective;
  }

private:
  const Program &program;
  std::vector<StepInstance> instances;
  std::vector<std::vector<uint32_t>> first; // [class][task]: node of step 0
  std::vector<uint32_t> events;             // node -> the node that stands for its event
  std::vector<std::vector<uint32_t>> members;
  std::vector<uint32_t> start, successors, waiting;

  const Fragment &fragmentOf(const StepInstance &instance) const {
    const RankClass *rankClass = program.classes()->Get(instance.rankClass);
    return *rankClass->fragments()->Get(rankClass->tasks()->Get(instance.task)->fragment());
  }
  bool isTaskEnd(uint32_t node) const { return instances[node].step == fragmentOf(instances[node]).steps()->size(); }
  const Step &stepOf(uint32_t node) const { return *fragmentOf(instances[node]).steps()->Get(instances[node].step); }
  const Task &taskOf(uint32_t node) const { return *program.classes()->Get(instances[node].rankClass)->tasks()->Get(instances[node].task); }
  double beginOf(uint32_t node) const { return isTaskEnd(node) ? taskOf(node).end() : taskOf(node).begin() + stepOf(node).begin(); }

  void number() {
    for (uint32_t index = 0; index < program.classes()->size(); ++index) {
      const RankClass *rankClass = program.classes()->Get(index);
      first.emplace_back();
      for (uint32_t task = 0; task < rankClass->tasks()->size(); ++task) {
        first.back().push_back(instances.size());
        uint32_t steps = rankClass->fragments()->Get(rankClass->tasks()->Get(task)->fragment())->steps()->size();
        for (uint32_t step = 0; step <= steps; ++step)
          instances.push_back({index, task, step});
      }
    }
  }

  void merge() {
    events.resize(instances.size());
    members.resize(instances.size());
    // Kind, the class that names the event (sender; lowest member), event, micro-batch.
    std::map<std::tuple<bool, int64_t, uint32_t, uint32_t>, uint32_t> known;
    for (uint32_t node = 0; node < instances.size(); ++node) {
      events[node] = node;
      if (isCommunication(node)) {
        const Step &step = stepOf(node);
        const RankClass &rankClass = *program.classes()->Get(instances[node].rankClass);
        int64_t name = instances[node].rankClass;
        bool collective = step.kind() == StepKind::Collective;
        uint32_t event;
        if (collective) {
          event = program.collectives()->Get(step.payload())->event();
          name = lowestMember(rankClass, *program.collectives()->Get(step.payload()));
        } else {
          const Transfer *transfer = program.transfers()->Get(step.payload());
          event = transfer->event();
          if (step.kind() == StepKind::Receive)
            name = neighbourClass(program, rankClass, transfer->axis(), transfer->peer());
        }
        events[node] = known.emplace(std::make_tuple(collective, name, event, taskOf(node).micro()), node).first->second;
      }
      members[events[node]].push_back(node);
    }
  }

  int64_t lowestMember(const RankClass &rankClass, const Collective &collective) const {
    for (uint32_t index = 0; index < program.classes()->size(); ++index) {
      bool member = true;
      for (const Coordinate *fixed : *program.classes()->Get(index)->fixed()) {
        bool spanned = std::find(collective.axes()->begin(), collective.axes()->end(), fixed->axis()) != collective.axes()->end();
        member &= spanned || fixedCoordinate(rankClass, fixed->axis()) == fixed->value();
      }
      if (member)
        return index;
    }
    return -1;
  }

  void connect(bool withCommunicationOrder) {
    std::vector<std::pair<uint32_t, uint32_t>> edges;
    auto add = [&](uint32_t from, uint32_t to) { edges.emplace_back(events[from], events[to]); };
    for (uint32_t node = 0; node < instances.size(); ++node) {
      const StepInstance &instance = instances[node];
      uint32_t begin = first[instance.rankClass][instance.task];
      if (isTaskEnd(node)) {
        if (instance.task > 0)
          add(begin - 1, node);
        continue;
      }
      const Fragment &fragment = fragmentOf(instance);
      const Step &step = *fragment.steps()->Get(instance.step);
      for (uint32_t i = 0; i < step.dependency_count(); ++i)
        add(begin + fragment.dependencies()->Get(step.first_dependency() + i), node);
      if (step.kind() != StepKind::Send && step.kind() != StepKind::Receive) {
        if (instance.task > 0)
          add(begin - 1, node);
        add(node, begin + fragment.steps()->size());
      }
    }
    for (uint32_t index = 0; index < program.classes()->size(); ++index) {
      const RankClass *rankClass = program.classes()->Get(index);
      for (const TaskDependency *edge : *rankClass->task_dependencies())
        add(first[index][edge->on_task()] + edge->on_step(), first[index][edge->task()] + edge->step());
      const auto &order = *rankClass->communication_order();
      for (uint32_t i = 1; withCommunicationOrder && i < order.size(); ++i)
        add(first[index][order[i - 1]->task()] + order[i - 1]->step(), first[index][order[i]->task()] + order[i]->step());
    }
    start.assign(instances.size() + 2, 0);
    waiting.assign(instances.size(), 0);
    for (auto [from, to] : edges) {
      ++start[from + 2];
      ++waiting[to];
    }
    for (size_t i = 2; i < start.size(); ++i)
      start[i] += start[i - 1];
    successors.resize(edges.size());
    for (auto [from, to] : edges)
      successors[start[from + 1]++] = to;
  }

  /// Nodes of the shortest cycle through `origin` among nodes never visited, each waiting for the next; empty when there is none.
  std::vector<uint32_t> shortestCycle(uint32_t origin) {
    std::map<uint32_t, uint32_t> from;
    std::queue<uint32_t> queue;
    queue.push(origin);
    while (!queue.empty()) {
      uint32_t node = queue.front();
      queue.pop();
      for (uint32_t i = start[node]; i < start[node + 1]; ++i) {
        uint32_t next = successors[i];
        if (waiting[next] == 0)
          continue;
        if (next == origin) {
          std::vector<uint32_t> cycle = {origin};
          for (; node != origin; node = from[node])
            cycle.push_back(node);
          return cycle;
        }
        if (next != origin && from.emplace(next, node).second)
          queue.push(next);
      }
    }
    return {};
  }

  std::string describeNode(uint32_t node) {
    std::string text;
    for (uint32_t member : members[node]) {
      const StepInstance &instance = instances[member];
      text +=
          (text.empty() ? "" : " with ") + describeStep(program, *program.classes()->Get(instance.rankClass), instance.task, instance.step);
    }
    return text;
  }
};

} // namespace

std::string findDeadlock(const Program &program, bool withCommunicationOrder) {
  EventGraph graph(program, withCommunicationOrder);
  return graph.sort([](uint32_t) {}) ? "" : graph.describeCycle();
}

std::string checkDeadlock(const Program &program) { return findDeadlock(program); }

std::optional<std::vector<std::vector<CommunicationRef>>> orderCommunication(const Program &program) {
  EventGraph graph(program, /*withCommunicationOrder=*/false);
  std::vector<std::vector<CommunicationRef>> orders(program.classes()->size());
  bool sorted = graph.sort([&](uint32_t node) {
    if (graph.isCommunication(node))
      for (uint32_t member : graph.membersOf(node))
        orders[graph.at(member).rankClass].emplace_back(graph.at(member).task, graph.at(member).step);
  });
  if (!sorted)
    return std::nullopt;
  return orders;
}

} // namespace npar::program
