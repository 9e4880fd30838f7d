// Reachability across tasks: ranges of Send and Receive instances, and one place in the compute chain.
#include "engine/program/TaskOrder.h"

#include "engine/program/Steps.h"

#include <algorithm>

namespace npar::program {

void InstanceSet::add(uint32_t line, uint32_t index) {
  InstanceSet one;
  one.ranges.push_back({line, index, index + 1});
  unite(one);
}

void InstanceSet::unite(const InstanceSet &other) {
  std::vector<Range> merged;
  merged.reserve(ranges.size() + other.ranges.size());
  auto less = [](const Range &a, const Range &b) { return a.line != b.line ? a.line < b.line : a.begin < b.begin; };
  std::merge(ranges.begin(), ranges.end(), other.ranges.begin(), other.ranges.end(), std::back_inserter(merged), less);
  ranges.clear();
  for (const Range &range : merged)
    if (!ranges.empty() && ranges.back().line == range.line && range.begin <= ranges.back().end)
      ranges.back().end = std::max(ranges.back().end, range.end);
    else
      ranges.push_back(range);
}

bool InstanceSet::contains(uint32_t line, uint32_t index) const {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), std::make_pair(line, index),
                                [](const auto &wanted, const Range &range) { return wanted < std::make_pair(range.line, range.begin); });
  return after != ranges.begin() && std::prev(after)->line == line && index < std::prev(after)->end;
}

bool InstanceSet::includes(const InstanceSet &other) const {
  size_t place = 0;
  for (const Range &range : other.ranges) {
    while (place < ranges.size() &&
           (ranges[place].line < range.line || (ranges[place].line == range.line && ranges[place].end < range.end)))
      ++place;
    if (place == ranges.size() || ranges[place].line != range.line || ranges[place].begin > range.begin)
      return false;
  }
  return true;
}

void TaskOrder::advance(Front &front, uint32_t otherTask, const std::vector<uint32_t> &otherSteps) const {
  if (otherSteps.empty())
    return;
  bool isEmpty = front.steps.empty() && front.stepsBeside.empty();
  std::vector<uint32_t> *into = &front.steps;
  if (!isEmpty && isPair(otherTask, front.task)) {
    into = &front.stepsBeside;
  } else if (isEmpty || otherTask > front.task) {
    front.stepsBeside = !isEmpty && isPair(front.task, otherTask) ? std::move(front.steps) : std::vector<uint32_t>();
    front.steps.clear();
    front.task = otherTask;
  } else if (otherTask < front.task) {
    return;
  }
  for (uint32_t other : otherSteps)
    if (std::find(into->begin(), into->end(), other) == into->end())
      into->push_back(other);
}

TaskOrder::TaskOrder(const RankClass &rankClass) : rankClass(rankClass), sets(1) {
  uint32_t lineCount = 0;
  for (const Fragment *fragment : *rankClass.fragments()) {
    orders.emplace_back(*fragment);
    lines.emplace_back();
    joined.emplace_back(fragment->steps()->size(), false);
    for (const Step *each : *fragment->steps())
      lines.back().push_back(program::isAsync(*each) ? lineCount++ : ~0u);
  }
  std::vector<uint32_t> counts(rankClass.fragments()->size(), 0);
  for (const Task *each : *rankClass.tasks())
    ordinal.push_back(counts[each->fragment()]++);
  for (const TaskDependency *edge : *rankClass.task_dependencies()) {
    taskEdges.emplace(key(edge->task(), edge->step()), std::make_pair(edge->on_task(), edge->on_step()));
    kept.emplace(key(edge->on_task(), edge->on_step()), Known{});
    joined[rankClass.tasks()->Get(edge->task())->fragment()][edge->step()] = true;
    joined[rankClass.tasks()->Get(edge->on_task())->fragment()][edge->on_step()] = true;
  }
}

bool TaskOrder::isAsync(uint32_t inTask, uint32_t index) const { return lines[rankClass.tasks()->Get(inTask)->fragment()][index] != ~0u; }

uint32_t TaskOrder::unite(uint32_t a, uint32_t b) {
  if (a == b || sets[a].includes(sets[b]))
    return a;
  if (sets[b].includes(sets[a]))
    return b;
  sets.push_back(sets[a]);
  sets.back().unite(sets[b]);
  return sets.size() - 1;
}

void TaskOrder::enter(uint32_t newTask, uint32_t newStep) {
  if (newTask != task) {
    if (!overlaps(*rankClass.tasks()->Get(newTask)))
      chain = nextChain;
    own.clear();
    task = newTask;
  }
  step = newStep;
  const Fragment &fragment = fragmentOf(task);
  const Step &entered = *fragment.steps()->Get(step);
  bool async = isAsync(task, step);
  before = async ? 0 : chain;
  front = {};
  auto learn = [&](uint32_t otherTask, uint32_t otherStep, const Known &known) {
    before = unite(before, known.set);
    if (!async)
      return;
    if (!isAsync(otherTask, otherStep))
      return advance(front, otherTask, {otherStep});
    if (!known.front.stepsBeside.empty())
      advance(front, known.front.task - 1, known.front.stepsBeside);
    advance(front, known.front.task, known.front.steps);
  };
  for (uint32_t i = 0; i < entered.dependency_count(); ++i) {
    uint32_t on = fragment.dependencies()->Get(entered.first_dependency() + i);
    learn(task, on, own[on]);
  }
  bool isJoined = joined[rankClass.tasks()->Get(task)->fragment()][step];
  auto [edge, last] = isJoined ? taskEdges.equal_range(key(task, step)) : std::make_pair(taskEdges.end(), taskEdges.end());
  for (; edge != last; ++edge)
    learn(edge->second.first, edge->second.second, kept.at(key(edge->second.first, edge->second.second)));
  uint32_t after = before;
  if (async) {
    sets.push_back(sets[before]);
    after = sets.size() - 1;
    sets.back().add(lines[rankClass.tasks()->Get(task)->fragment()][step], ordinal[task]);
  } else {
    nextChain = unite(nextChain, after);
  }
  own.push_back({after, front});
  if (!isJoined)
    return;
  if (auto wanted = kept.find(key(task, step)); wanted != kept.end())
    wanted->second = own.back();
}

bool TaskOrder::waitsFor(uint32_t otherTask, uint32_t otherStep) const {
  uint32_t fragment = rankClass.tasks()->Get(otherTask)->fragment();
  if (otherTask == task)
    return orders[fragment].before(otherStep, step);
  if (isAsync(otherTask, otherStep))
    return sets[before].contains(lines[fragment][otherStep], ordinal[otherTask]);
  if (!isAsync(task, step))
    return !isPair(otherTask, task); // by the compute chain
  if ((front.steps.empty() && front.stepsBeside.empty()) || otherTask > front.task)
    return false;
  bool isBeside = isPair(otherTask, front.task);
  const std::vector<uint32_t> &known = isBeside ? front.stepsBeside : front.steps;
  return (otherTask < front.task && !isBeside) ||
         std::any_of(known.begin(), known.end(), [&](uint32_t one) { return one == otherStep || orders[fragment].before(otherStep, one); });
}

} // namespace npar::program
