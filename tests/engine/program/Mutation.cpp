// Edits fragments, orders and events of a program in its unpacked form, and keeps the score of what the checks say to that.
#include "tests/engine/program/Mutation.h"

#include "engine/program/Checks.h"
#include "engine/program/Verify.h"
#include "tests/engine/program/Simulation.h"

#include <algorithm>

namespace npar::program {
namespace {

std::vector<std::vector<uint32_t>> dependenciesOf(const FragmentT &fragment) {
  std::vector<std::vector<uint32_t>> lists;
  for (const Step &step : fragment.steps) {
    auto begin = fragment.dependencies.begin() + step.first_dependency();
    lists.emplace_back(begin, begin + step.dependency_count());
  }
  return lists;
}

void setDependencies(FragmentT &fragment, const std::vector<std::vector<uint32_t>> &lists) {
  fragment.dependencies.clear();
  for (size_t i = 0; i < lists.size(); ++i) {
    fragment.steps[i].mutate_first_dependency(fragment.dependencies.size());
    fragment.steps[i].mutate_dependency_count(lists[i].size());
    fragment.dependencies.insert(fragment.dependencies.end(), lists[i].begin(), lists[i].end());
  }
}

/// Renumbers steps in what refers to tasks of a fragment; references to `gone` disappear.
template <typename Renumber> void renumber(RankClassT &rankClass, uint32_t fragment, Renumber number, uint32_t gone) {
  auto here = [&](uint32_t task) { return rankClass.tasks[task].fragment() == fragment; };
  std::vector<CommunicationRef> order;
  for (const CommunicationRef &step : rankClass.communication_order)
    if (!here(step.task()))
      order.push_back(step);
    else if (step.step() != gone)
      order.emplace_back(step.task(), number(step.step()));
  rankClass.communication_order = order;
  std::vector<TaskDependency> edges;
  for (const TaskDependency &edge : rankClass.task_dependencies)
    if (!(here(edge.task()) && edge.step() == gone) && !(here(edge.on_task()) && edge.on_step() == gone))
      edges.emplace_back(edge.task(), here(edge.task()) ? number(edge.step()) : edge.step(), edge.on_task(),
                         here(edge.on_task()) ? number(edge.on_step()) : edge.on_step());
  rankClass.task_dependencies = edges;
}

} // namespace

uint32_t isolateTask(RankClassT &rankClass, uint32_t task) {
  const FragmentT &old = *rankClass.fragments[rankClass.tasks[task].fragment()];
  auto copy = std::make_unique<FragmentT>();
  copy->name = old.name, copy->phase = old.phase, copy->steps = old.steps;
  copy->dependencies = old.dependencies, copy->operands = old.operands;
  rankClass.fragments.push_back(std::move(copy));
  rankClass.tasks[task].mutate_fragment(rankClass.fragments.size() - 1);
  return rankClass.fragments.size() - 1;
}

void removeStep(RankClassT &rankClass, uint32_t index, uint32_t step) {
  FragmentT &fragment = *rankClass.fragments[index];
  std::vector<std::vector<uint32_t>> lists = dependenciesOf(fragment), kept;
  for (uint32_t i = 0; i < lists.size(); ++i) {
    if (i == step)
      continue;
    std::vector<uint32_t> list;
    for (uint32_t on : lists[i])
      if (on != step)
        list.push_back(on);
      else
        list.insert(list.end(), lists[step].begin(), lists[step].end());
    for (uint32_t &on : list)
      on -= on > step;
    kept.push_back(list);
  }
  fragment.steps.erase(fragment.steps.begin() + step);
  setDependencies(fragment, kept);
  renumber(
      rankClass, index, [&](uint32_t old) { return old - (old > step); }, step);
}

void duplicateStep(RankClassT &rankClass, uint32_t index, uint32_t step) {
  FragmentT &fragment = *rankClass.fragments[index];
  std::vector<std::vector<uint32_t>> lists = dependenciesOf(fragment);
  for (std::vector<uint32_t> &list : lists)
    for (uint32_t &on : list)
      on += on > step;
  lists.insert(lists.begin() + step + 1, {step});
  Step copy = fragment.steps[step];
  fragment.steps.insert(fragment.steps.begin() + step + 1, copy);
  setDependencies(fragment, lists);
  renumber(
      rankClass, index, [&](uint32_t old) { return old + (old > step); }, ~0u);
  std::vector<CommunicationRef> order;
  for (const CommunicationRef &place : rankClass.communication_order) {
    order.push_back(place);
    if (place.step() == step && rankClass.tasks[place.task()].fragment() == index)
      order.emplace_back(place.task(), step + 1);
  }
  rankClass.communication_order = order;
}

void retagStep(ProgramT &program, Step &step, uint32_t event) {
  if (step.kind() == StepKind::Collective) {
    const CollectiveT &old = *program.collectives[step.payload()];
    uint32_t copy = addAllReduce(program, old.axes, event, old.count, old.type, old.op);
    program.collectives[copy]->kind = program.collectives[step.payload()]->kind;
    program.collectives[copy]->outer = program.collectives[step.payload()]->outer;
    program.collectives[copy]->split = program.collectives[step.payload()]->split;
    program.collectives[copy]->inner = program.collectives[step.payload()]->inner;
    step.mutate_payload(copy);
  } else {
    const TransferT old = *program.transfers[step.payload()];
    step.mutate_payload(addTransfer(program, old.axis, old.peer, event, old.count, old.type));
  }
}

size_t placeOf(const RankClassT &rankClass, const CommunicationRef &step) {
  const auto &order = rankClass.communication_order;
  return std::find_if(order.begin(), order.end(),
                      [&](const CommunicationRef &other) { return other.task() == step.task() && other.step() == step.step(); }) -
         order.begin();
}

void moveBefore(RankClassT &rankClass, const CommunicationRef &step, const CommunicationRef &before) {
  auto &order = rankClass.communication_order;
  order.erase(order.begin() + placeOf(rankClass, step));
  order.insert(order.begin() + placeOf(rankClass, before), step);
}

std::string mutate(ProgramT &program, std::mt19937 &chance) {
  uint32_t index = 0;
  do
    index = chance() % program.classes.size();
  while (program.classes[index]->communication_order.empty());
  RankClassT &rankClass = *program.classes[index];
  auto &order = rankClass.communication_order;
  size_t place = chance() % order.size();
  CommunicationRef chosen = order[place];
  std::string what = rankClass.name + " " + textOf(program, index, chosen) + ": ";
  uint32_t kind = chance() % 5;
  if (kind == 2) {
    size_t other = chance() % 2 ? (place + 1) % order.size() : chance() % order.size();
    std::swap(order[place], order[other]);
    return what + "swapped in the order with " + textOf(program, index, order[place]);
  }
  bool alone = chance() % 2;
  uint32_t fragment = alone ? isolateTask(rankClass, chosen.task()) : rankClass.tasks[chosen.task()].fragment();
  what += alone ? "in this task " : "in all its tasks ";
  Step &step = rankClass.fragments[fragment]->steps[chosen.step()];
  if (kind == 0) {
    removeStep(rankClass, fragment, chosen.step());
    return what + "dropped";
  }
  if (kind == 1) {
    duplicateStep(rankClass, fragment, chosen.step());
    return what + "duplicated";
  }
  if (kind == 3) { // the micro-batches of two tasks
    std::vector<uint32_t> same;
    uint32_t was = rankClass.tasks[chosen.task()].fragment();
    for (uint32_t task = 0; task < rankClass.tasks.size(); ++task)
      if (rankClass.tasks[task].fragment() == was)
        same.push_back(task);
    uint32_t other = same[chance() % same.size()], micro = rankClass.tasks[chosen.task()].micro();
    rankClass.tasks[chosen.task()].mutate_micro(rankClass.tasks[other].micro());
    rankClass.tasks[other].mutate_micro(micro);
    if (other != chosen.task())
      return what + "retagged with micro-batch " + std::to_string(rankClass.tasks[chosen.task()].micro()) + ", and the other way round";
  }
  // The event of another step of its kind, or one of its own.
  uint32_t event = 0;
  if (step.kind() == StepKind::Collective)
    event = program.collectives[chance() % program.collectives.size()]->event;
  else
    event = program.transfers[chance() % program.transfers.size()]->event;
  if (chance() % 4 == 0)
    event = 77777;
  retagStep(program, step, event);
  return what + "retagged with event " + std::to_string(event);
}

void Score::add(const Program &program, const std::string &what, std::mt19937 &chance) {
  ++mutants;
  Simulated truth = simulate(program, chance);
  bool complete = true, refusedHere = false, cycle = false;
  std::string checks;
  for (const CheckResult &result : checkProgram(program))
    if (!result.ok) {
      refusedHere = true;
      complete &= result.name == "no deadlock" || result.name == "memory as planned" || result.name == "every element owned";
      cycle |= result.name == "no deadlock";
      checks += "\n  " + result.name + ": " + result.detail;
    }
  bool bad = truth.fate != Fate::Ends;
  ++(bad ? hang : harmless);
  (bad ? caught : refused) += refusedHere;
  if (bad && !refusedHere)
    missed.push_back(what + "\n  hangs: " + truth.why);
  if (complete && cycle != (truth.fate == Fate::Hangs)) {
    ++wrongCycle;
    missed.push_back(what + (bad ? "\n  hangs without a cycle: " : "\n  a cycle that does not hang: ") + truth.why + checks);
  }
}

std::string Score::text() const {
  return "mutants " + std::to_string(mutants) + ": hang " + std::to_string(hang) + " caught " + std::to_string(caught) + ", harmless " +
         std::to_string(harmless) + " refused " + std::to_string(refused);
}

} // namespace npar::program
