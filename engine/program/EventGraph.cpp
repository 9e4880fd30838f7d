// Numbers the steps of all tasks of all classes, merges the members of each communication event, and connects what waits.
#include "engine/program/EventGraph.h"

#include "engine/program/ClassMesh.h"
#include "engine/program/Steps.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

namespace npar::program {
namespace {

bool communicates(StepKind kind) { return kind == StepKind::Collective || kind == StepKind::Send || kind == StepKind::Receive; }

} // namespace

EventGraph::EventGraph(const Program &program, bool withCommunicationOrder) : program(program) {
  number();
  merge();
  connect(withCommunicationOrder);
}

const Task &EventGraph::taskOf(uint32_t node) const {
  return *program.classes()->Get(nodes[node].rankClass)->tasks()->Get(nodes[node].task);
}

const Fragment &EventGraph::fragmentOf(uint32_t node) const {
  return *program.classes()->Get(nodes[node].rankClass)->fragments()->Get(taskOf(node).fragment());
}

bool EventGraph::isCommunication(uint32_t node) const { return isStep(node) && communicates(stepOf(node).kind()); }

size_t EventGraph::eventCount() const {
  size_t count = 0;
  for (uint32_t node = 0; node < nodes.size(); ++node)
    count += events[node] == node;
  return count;
}

void EventGraph::number() {
  for (uint32_t index = 0; index < program.classes()->size(); ++index) {
    const RankClass *rankClass = program.classes()->Get(index);
    first.emplace_back();
    for (uint32_t task = 0; task < rankClass->tasks()->size(); ++task) {
      first.back().push_back(nodes.size());
      uint32_t steps = rankClass->fragments()->Get(rankClass->tasks()->Get(task)->fragment())->steps()->size();
      for (uint32_t step = 0; step <= steps; ++step)
        nodes.push_back({index, task, step});
    }
  }
}

void EventGraph::merge() {
  ClassMesh mesh(program);
  events.resize(nodes.size());
  nextMember.resize(nodes.size());
  // Kind, the class that names the event (sender; first member), event, micro-batch.
  std::map<std::tuple<bool, int64_t, uint32_t, uint32_t>, uint32_t> known;
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    events[node] = nextMember[node] = node;
    if (!isCommunication(node))
      continue;
    const Step &step = stepOf(node);
    int64_t name = nodes[node].rankClass;
    bool collective = step.kind() == StepKind::Collective;
    uint32_t event;
    if (collective) {
      const Collective &payload = *program.collectives()->Get(step.payload());
      event = payload.event();
      name = mesh.firstMember(nodes[node].rankClass, payload);
    } else {
      const Transfer *transfer = program.transfers()->Get(step.payload());
      event = transfer->event();
      if (step.kind() == StepKind::Receive)
        name = mesh.neighbour(nodes[node].rankClass, transfer->axis(), transfer->peer());
    }
    uint32_t stands = known.emplace(std::make_tuple(collective, name, event, taskOf(node).micro()), node).first->second;
    if (stands != node) {
      events[node] = stands;
      std::swap(nextMember[node], nextMember[stands]);
    }
  }
}

void EventGraph::connect(bool withCommunicationOrder) {
  std::vector<Edge> unsorted;
  auto add = [&](uint32_t from, uint32_t to, WaitReason reason) { unsorted.push_back({from, to, reason}); };
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    uint32_t task = nodes[node].task, begin = first[nodes[node].rankClass][task];
    if (!isStep(node)) {
      if (task > 0)
        add(begin - 1, node, WaitReason::ComputeChain);
      continue;
    }
    const Fragment &fragment = fragmentOf(node);
    const Step &step = stepOf(node);
    for (uint32_t i = 0; i < step.dependency_count(); ++i)
      add(begin + fragment.dependencies()->Get(step.first_dependency() + i), node, WaitReason::Dependency);
    if (!isAsync(step)) {
      if (task > 0)
        add(begin - 1, node, WaitReason::ComputeChain);
      add(node, begin + fragment.steps()->size(), WaitReason::ComputeChain);
    }
  }
  for (uint32_t index = 0; index < program.classes()->size(); ++index) {
    const RankClass *rankClass = program.classes()->Get(index);
    for (const TaskDependency *edge : *rankClass->task_dependencies())
      add(first[index][edge->on_task()] + edge->on_step(), first[index][edge->task()] + edge->step(), WaitReason::TaskDependency);
    if (!withCommunicationOrder)
      continue;
    uint32_t place = 0;
    for (const CommunicationRef *reference : *rankClass->communication_order()) {
      uint32_t node = first[index][reference->task()] + reference->step(), before = nodes.size() - 1;
      events.push_back(nodes.size());
      nextMember.push_back(nodes.size());
      nodes.push_back({index, orderPlace, place});
      if (place++ > 0) {
        add(before, node, WaitReason::CommunicationOrder);
        add(before, before + 1, WaitReason::CommunicationOrder);
      }
      add(node, nodes.size() - 1, WaitReason::CommunicationOrder);
    }
  }
  std::vector<uint32_t> &start = merged.start;
  start.assign(nodes.size() + 2, 0);
  for (const Edge &edge : unsorted)
    ++start[events[edge.from] + 2];
  for (size_t i = 2; i < start.size(); ++i)
    start[i] += start[i - 1];
  edges.resize(unsorted.size());
  merged.heads.resize(unsorted.size());
  for (const Edge &edge : unsorted) {
    uint32_t place = start[events[edge.from] + 1]++;
    edges[place] = edge;
    merged.heads[place] = events[edge.to];
  }
  start.pop_back();
  merged.counted.resize(nodes.size());
  for (uint32_t node = 0; node < nodes.size(); ++node)
    merged.counted[node] = isStep(node);
}

/// Planned begin, seconds: a message begins when its sender is ready, a collective when its last member is.
std::vector<double> EventGraph::begins() const {
  std::vector<double> begin(nodes.size());
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].task == orderPlace)
      continue;
    if (!isStep(node))
      begin[node] = taskOf(node).end();
    else if (stepOf(node).kind() != StepKind::Receive)
      begin[events[node]] = std::max(begin[events[node]], taskOf(node).begin() + stepOf(node).begin());
  }
  return begin;
}

std::vector<uint32_t> EventGraph::sort() const {
  using Entry = std::tuple<double, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  std::vector<double> begin = begins();
  std::vector<uint32_t> waiting(nodes.size(), 0), order;
  for (uint32_t head : merged.heads)
    ++waiting[head];
  for (uint32_t node = 0; node < nodes.size(); ++node)
    if (events[node] == node && waiting[node] == 0)
      ready.emplace(begin[node], node);
  while (!ready.empty()) {
    uint32_t node = std::get<1>(ready.top());
    ready.pop();
    order.push_back(node);
    for (uint32_t i = merged.start[node]; i < merged.start[node + 1]; ++i)
      if (--waiting[merged.heads[i]] == 0)
        ready.emplace(begin[merged.heads[i]], merged.heads[i]);
  }
  return order;
}

std::vector<uint32_t> EventGraph::communicationEvents() const {
  std::vector<double> begin = begins();
  std::vector<uint32_t> result;
  for (uint32_t node = 0; node < nodes.size(); ++node)
    if (events[node] == node && isCommunication(node))
      result.push_back(node);
  std::stable_sort(result.begin(), result.end(), [&](uint32_t a, uint32_t b) { return begin[a] < begin[b]; });
  return result;
}

} // namespace npar::program
