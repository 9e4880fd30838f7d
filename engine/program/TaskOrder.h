// Order of the steps of a class's tasks across tasks, in space that grows linearly with the number of tasks.
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/program/StepOrder.h"
#include "engine/program/Steps.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace npar::program {

/// A set of instances of async steps (Send, Receive, free collectives). Each such step of each fragment is a line, and its instances are
/// numbered in task order; the set holds ranges of these numbers. A step of a schedule usually knows all instances up to some task, so a
/// set has a few ranges however long the schedule is.
class InstanceSet {
public:
  void add(uint32_t line, uint32_t index);
  void unite(const InstanceSet &other);
  bool contains(uint32_t line, uint32_t index) const;
  bool includes(const InstanceSet &other) const;

private:
  struct Range {
    uint32_t line, begin, end;
  };
  std::vector<Range> ranges; ///< ascending, disjoint, not adjacent
};

/// Visits the steps of all tasks in order and tells for each which steps it waits for, directly or through others. Order comes from
/// dependencies, task dependencies and the compute chain. Compute steps of two tasks that overlap count as unordered. `checkStructure` must
/// have passed.
class TaskOrder {
public:
  explicit TaskOrder(const RankClass &rankClass);
  /// Makes this step the current one. Steps of a task must be entered in ascending order, and tasks in order.
  void enter(uint32_t task, uint32_t step);
  /// True if the step that was entered last waits for this one, which was entered before it.
  bool waitsFor(uint32_t task, uint32_t step) const;
  /// True if only its own dependencies order a step, outside of the compute chain.
  bool isAsync(uint32_t task, uint32_t step) const;
  const StepOrder &orderOf(uint32_t fragment) const { return orders[fragment]; }

private:
  /// Compute steps that are known to be complete: all those of the tasks before `task`, and in it `steps` and their predecessors. If the
  /// task overlaps the one before it, of that task only `stepsBeside` and their predecessors.
  struct Front {
    uint32_t task = 0;
    std::vector<uint32_t> steps, stepsBeside;
  };
  struct Known {
    uint32_t set; ///< index in `sets`
    Front front;  ///< for an async step; unused for a compute step, which is itself a front
  };

  const RankClass &rankClass;
  std::vector<StepOrder> orders;                                              // by fragment
  std::vector<std::vector<uint32_t>> lines;                                   // [fragment][step]: of async steps
  std::vector<std::vector<bool>> joined;                                      // [fragment][step]: whether task dependencies have it
  std::vector<uint32_t> ordinal;                                              // [task]: among the tasks of its fragment
  std::unordered_multimap<uint64_t, std::pair<uint32_t, uint32_t>> taskEdges; // step -> step of another task that it waits for
  std::unordered_map<uint64_t, Known> kept;                                   // of steps that later tasks wait for directly
  std::vector<InstanceSet> sets;                                              // shared by steps that know the same
  std::vector<Known> own;                                                     // of the task's steps so far
  uint32_t chain = 0, nextChain = 0; // sets: of all compute steps of earlier tasks; with those of this one so far
  uint32_t task = 0, step = 0, before = 0;
  Front front;

  static uint64_t key(uint32_t task, uint32_t step) { return uint64_t(task) << 32 | step; }
  const Fragment &fragmentOf(uint32_t index) const { return *rankClass.fragments()->Get(rankClass.tasks()->Get(index)->fragment()); }
  uint32_t unite(uint32_t a, uint32_t b);
  void advance(Front &front, uint32_t otherTask, const std::vector<uint32_t> &otherSteps) const;
  bool isPair(uint32_t earlier, uint32_t later) const { return earlier + 1 == later && overlaps(*rankClass.tasks()->Get(later)); }
};

} // namespace npar::program
