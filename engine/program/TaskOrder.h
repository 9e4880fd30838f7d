// Which steps of a class's tasks wait for which of other tasks, in space that grows with the tasks and not with their square.
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/program/StepOrder.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace npar::program {

/// A set of instances of async steps (Send, Receive, free collectives): the i-th in order of tasks of each such step of each fragment (a
/// line), as ranges of i. The steps of a schedule know almost all instances up to some task, so a set is a few ranges however long the
/// schedule is.
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

/// Goes through the steps of all tasks in order and says of each what it waits for, directly or through others. Order comes from
/// dependencies, task dependencies and the compute chain. `checkStructure` must have passed.
class TaskOrder {
public:
  explicit TaskOrder(const RankClass &rankClass);
  /// Makes this step the current one. Steps of a task must be entered one after the other, tasks in order.
  void enter(uint32_t task, uint32_t step);
  /// Whether the step that was entered last waits for this one, which was entered before it.
  bool waitsFor(uint32_t task, uint32_t step) const;
  /// Whether a step orders itself by its own dependencies alone, outside of the compute chain.
  bool isAsync(uint32_t task, uint32_t step) const;
  const StepOrder &orderOf(uint32_t fragment) const { return orders[fragment]; }

private:
  /// Compute steps that are known to be complete: all of the tasks before `task`, and in it `steps` with what precedes them.
  struct Front {
    uint32_t task = 0;
    std::vector<uint32_t> steps;
    void unite(uint32_t otherTask, const std::vector<uint32_t> &otherSteps);
  };
  struct Known {
    uint32_t set; ///< in `sets`
    Front front;  ///< of an async step; none of a compute step, which is one itself
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
};

} // namespace npar::program
