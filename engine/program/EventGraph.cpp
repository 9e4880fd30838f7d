// Numbers the steps of all tasks of all classes, merges the members of each communication event, and connects what waits.
#include "engine/program/EventGraph.h"

#include "engine/program/ClassMesh.h"
#include "engine/program/Steps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>

namespace npar::program {
namespace {

bool communicates(StepKind kind) { return kind == StepKind::Collective || kind == StepKind::Send || kind == StepKind::Receive; }

} // namespace

EventGraph::EventGraph(const Program &program, GraphSteps steps, bool withCommunicationOrder) : program(program), steps(steps) {
  number();
  merge();
  if (withCommunicationOrder && steps == GraphSteps::All)
    addOrderPlaces();
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

/// The steps of a fragment that join tasks or ranks. What a Receive waits for is among them: the planned begin of a message is that of its
/// send, so that only a node tells when the receiver is ready.
static std::vector<bool> meetingSteps(const RankClass &rankClass, uint32_t index, const std::vector<std::vector<bool>> &joined) {
  const Fragment &fragment = *rankClass.fragments()->Get(index);
  std::vector<bool> wanted = joined[index];
  for (uint32_t place = 0; place < wanted.size(); ++place) {
    const Step &step = *fragment.steps()->Get(place);
    if (communicates(step.kind()))
      wanted[place] = true;
    if (step.kind() == StepKind::Receive)
      for (uint32_t i = 0; i < step.dependency_count(); ++i)
        wanted[fragment.dependencies()->Get(step.first_dependency() + i)] = true;
  }
  return wanted;
}

/// Marks, by fragment and step, the steps where task dependencies begin or end.
static std::vector<std::vector<bool>> joinedSteps(const RankClass &rankClass) {
  std::vector<std::vector<bool>> joined;
  for (const Fragment *fragment : *rankClass.fragments())
    joined.emplace_back(fragment->steps()->size(), false);
  auto mark = [&](uint32_t task, uint32_t step) { joined[rankClass.tasks()->Get(task)->fragment()][step] = true; };
  for (const TaskDependency *edge : *rankClass.task_dependencies()) {
    mark(edge->on_task(), edge->on_step());
    mark(edge->task(), edge->step());
  }
  return joined;
}

const FragmentWaits &EventGraph::waitsOf(uint32_t rankClass, uint32_t task) const {
  return waits[rankClass][program.classes()->Get(rankClass)->tasks()->Get(task)->fragment()];
}

uint32_t EventGraph::nodeOf(uint32_t rankClass, uint32_t task, uint32_t step) const {
  return first[rankClass][task] + waitsOf(rankClass, task).places[step];
}

void EventGraph::number() {
  for (uint32_t index = 0; index < program.classes()->size(); ++index) {
    const RankClass &rankClass = *program.classes()->Get(index);
    std::vector<std::vector<bool>> joined;
    if (steps == GraphSteps::Meeting)
      joined = joinedSteps(rankClass);
    waits.emplace_back();
    for (uint32_t fragment = 0; fragment < rankClass.fragments()->size(); ++fragment)
      waits.back().push_back(steps == GraphSteps::All
                                 ? listedWaits(*rankClass.fragments()->Get(fragment))
                                 : condensedWaits(*rankClass.fragments()->Get(fragment), meetingSteps(rankClass, fragment, joined)));
    first.emplace_back();
    for (uint32_t task = 0; task < rankClass.tasks()->size(); ++task) {
      first.back().push_back(static_cast<uint32_t>(nodes.size()));
      for (uint32_t step : waitsOf(index, task).steps)
        nodes.push_back({index, task, step});
      nodes.push_back({index, task, static_cast<uint32_t>(waitsOf(index, task).places.size())});
    }
  }
}

void EventGraph::merge() {
  ClassMesh mesh(program);
  events.resize(nodes.size());
  nextMember.resize(nodes.size());
  // Kind, the class that names the event (sender; first member), event: numbered, so that an instance is a number and a micro-batch.
  std::map<std::tuple<bool, int64_t, uint32_t>, uint32_t> numbers;
  std::unordered_map<uint64_t, uint32_t> known;
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
    uint64_t number = numbers.emplace(std::make_tuple(collective, name, event), numbers.size()).first->second;
    uint32_t stands = known.emplace(number << 32 | taskOf(node).micro(), node).first->second;
    if (stands != node) {
      events[node] = stands;
      std::swap(nextMember[node], nextMember[stands]);
    }
  }
}

/// After each communication of a rank, a node that stands for all of them up to there.
void EventGraph::addOrderPlaces() {
  firstPlace = static_cast<uint32_t>(nodes.size());
  for (uint32_t index = 0; index < program.classes()->size(); ++index)
    for (uint32_t place = 0; place < program.classes()->Get(index)->communication_order()->size(); ++place) {
      events.push_back(static_cast<uint32_t>(nodes.size()));
      nextMember.push_back(static_cast<uint32_t>(nodes.size()));
      nodes.push_back({index, orderPlace, place});
    }
}

template <typename Visit> void EventGraph::forEachEdge(bool withCommunicationOrder, Visit visit) const {
  for (uint32_t index = 0; index < program.classes()->size(); ++index) {
    const RankClass &rankClass = *program.classes()->Get(index);
    for (uint32_t task = 0; task < rankClass.tasks()->size(); ++task) {
      const FragmentWaits &fragment = waitsOf(index, task);
      uint32_t begin = first[index][task], end = begin + static_cast<uint32_t>(fragment.steps.size());
      auto wait = fragment.waits.begin();
      for (uint32_t node = begin; node <= end; ++node) {
        for (; wait != fragment.waits.end() && begin + wait->to == node; ++wait)
          visit(Edge{begin + wait->from, node, WaitReason::Dependency});
        bool besideEarlier = node < end && overlaps(*rankClass.tasks()->Get(task));
        uint32_t earlier = besideEarlier ? task - 1 : task; // the tasks before this one come first
        if (earlier > 0 && (node == end || fragment.afterEarlier[node - begin]))
          visit(Edge{first[index][earlier] - 1, node, WaitReason::ComputeChain});
        if (node < end && fragment.beforeLater[node - begin])
          visit(Edge{node, end, WaitReason::ComputeChain});
      }
    }
  }
  uint32_t nextPlace = firstPlace;
  for (uint32_t index = 0; index < program.classes()->size(); ++index) {
    const RankClass &rankClass = *program.classes()->Get(index);
    for (const TaskDependency *edge : *rankClass.task_dependencies())
      visit(Edge{nodeOf(index, edge->on_task(), edge->on_step()), nodeOf(index, edge->task(), edge->step()), WaitReason::TaskDependency});
    if (!withCommunicationOrder)
      continue;
    std::optional<uint32_t> before;
    for (const CommunicationRef *reference : *rankClass.communication_order()) {
      uint32_t node = nodeOf(index, reference->task(), reference->step());
      if (before)
        visit(Edge{*before, node, WaitReason::CommunicationOrder});
      if (steps == GraphSteps::All) {
        if (before)
          visit(Edge{*before, nextPlace, WaitReason::CommunicationOrder});
        visit(Edge{node, nextPlace, WaitReason::CommunicationOrder});
        node = nextPlace++;
      }
      before = node;
    }
  }
}

void EventGraph::connect(bool withCommunicationOrder) {
  std::vector<uint32_t> &start = merged.start;
  start.assign(nodes.size() + 2, 0);
  size_t count = 0;
  forEachEdge(withCommunicationOrder, [&](const Edge &edge) {
    ++start[events[edge.from] + 2];
    ++count;
  });
  for (size_t i = 2; i < start.size(); ++i)
    start[i] += start[i - 1];
  if (steps == GraphSteps::All)
    edges.resize(count);
  merged.heads.resize(count);
  forEachEdge(withCommunicationOrder, [&](const Edge &edge) {
    uint32_t place = start[events[edge.from] + 1]++;
    if (steps == GraphSteps::All)
      edges[place] = edge;
    merged.heads[place] = events[edge.to];
  });
  start.pop_back();
  merged.counted.resize(nodes.size());
  for (uint32_t node = 0; node < nodes.size(); ++node)
    merged.counted[node] = isStep(node);
}

/// Planned begin, seconds: a message begins when its sender is ready, a collective when its last member is. Two tasks that run at the same
/// time share the time of both, and each advances evenly.
std::vector<double> EventGraph::begins() const {
  std::vector<double> begin(nodes.size());
  std::vector<std::vector<double>> lengths; // by class and fragment
  for (const RankClass *rankClass : *program.classes()) {
    lengths.emplace_back();
    for (const Fragment *fragment : *rankClass->fragments())
      lengths.back().push_back(plannedSeconds(*fragment));
  }
  auto beginOf = [&](uint32_t node) {
    const Node &at = nodes[node];
    const RankClass &rankClass = *program.classes()->Get(at.rankClass);
    if (!isInPair(rankClass, at.task))
      return taskOf(node).begin() + stepOf(node).begin();
    uint32_t earlier = firstOfPair(rankClass, at.task);
    const Task &one = *rankClass.tasks()->Get(earlier), &other = *rankClass.tasks()->Get(earlier + 1);
    double pairBegin = std::min(one.begin(), other.begin()), pairEnd = std::max(one.end(), other.end());
    double length = lengths[at.rankClass][taskOf(node).fragment()];
    return pairBegin + (length > 0 ? stepOf(node).begin() / length : 0) * (pairEnd - pairBegin);
  };
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].task == orderPlace)
      continue;
    if (!isStep(node))
      begin[node] = taskOf(node).end();
    else if (stepOf(node).kind() != StepKind::Receive)
      begin[events[node]] = std::max(begin[events[node]], beginOf(node));
  }
  return begin;
}

std::vector<uint32_t> EventGraph::incoming() const {
  std::vector<uint32_t> counts(nodes.size(), 0);
  for (uint32_t head : merged.heads)
    ++counts[head];
  return counts;
}

bool EventGraph::isAcyclic() const {
  std::vector<uint32_t> waiting = incoming(), ready;
  for (uint32_t node = 0; node < nodes.size(); ++node)
    if (events[node] == node && waiting[node] == 0)
      ready.push_back(node);
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    uint32_t node = ready.back();
    ready.pop_back();
    for (uint32_t i = merged.start[node]; i < merged.start[node + 1]; ++i)
      if (--waiting[merged.heads[i]] == 0)
        ready.push_back(merged.heads[i]);
  }
  return done == eventCount();
}

std::vector<uint32_t> EventGraph::sort() const {
  using Entry = std::tuple<double, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  std::vector<double> begin = begins();
  std::vector<uint32_t> waiting = incoming(), order;
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
