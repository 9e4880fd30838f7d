// Edges between tasks: Send, Receive and free collectives are outside the compute chain, so what they share with other tasks needs an order
// of its own.
#include "compiler/memory/Allocate.h"
#include "engine/program/StepOrder.h"
#include "engine/program/Steps.h"

#include <algorithm>
#include <map>

namespace npar::memory {
namespace {

using program::isAsync;

struct TaskAccess {
  uint32_t step, region;
  uint64_t begin, end;
  bool write;
};

bool conflict(const TaskAccess &a, const TaskAccess &b) {
  return (a.write || b.write) && a.region == b.region && a.begin < b.end && b.begin < a.end;
}

/// The accesses of a fragment to regions that asynchronous steps touch.
struct FragmentAccesses {
  std::vector<TaskAccess> all;                      // in step order
  std::vector<uint32_t> firstOf;                    // by step: its first one; one more entry at the end
  std::vector<std::vector<TaskAccess>> synchronous; // by region: accesses of other steps, in step order
};

class Reuse {
public:
  explicit Reuse(program::RankClassT &rankClass) : rankClass(rankClass) {}

  void run() {
    collect();
    for (uint32_t task = 0; task < rankClass.tasks.size(); ++task)
      visit(task);
  }

private:
  program::RankClassT &rankClass;
  std::vector<FragmentAccesses> accesses;                                // per fragment
  std::vector<bool> asyncRegion;                                         // touched by an async step of any fragment
  std::vector<program::StepOrder> orders;                                // per fragment
  std::vector<std::pair<uint32_t, uint32_t>> asyncs;                     // task, step
  std::map<std::pair<uint32_t, uint64_t>, std::vector<size_t>> touching; // region, base of its slot: asyncs, ascending

  void collect() {
    asyncRegion.assign(rankClass.regions.size(), false);
    for (const auto &fragment : rankClass.fragments)
      for (const program::Step &step : fragment->steps)
        for (uint32_t i = 0; isAsync(step) && i < uint32_t(step.inputs()) + step.outputs(); ++i)
          asyncRegion[fragment->operands[step.first_operand() + i].region()] = true;
    for (const auto &fragment : rankClass.fragments) {
      FragmentAccesses &own = accesses.emplace_back();
      own.synchronous.resize(rankClass.regions.size());
      orders.emplace_back(fragment->steps.size());
      for (uint32_t index = 0; index < fragment->steps.size(); ++index) {
        const program::Step &step = fragment->steps[index];
        for (uint32_t i = 0; i < step.dependency_count(); ++i)
          orders.back().add(index, fragment->dependencies[step.first_dependency() + i]);
        own.firstOf.push_back(static_cast<uint32_t>(own.all.size()));
        for (uint32_t i = 0; i < uint32_t(step.inputs()) + step.outputs(); ++i) {
          const program::Operand &operand = fragment->operands[step.first_operand() + i];
          if (!asyncRegion[operand.region()])
            continue;
          own.all.push_back({index, operand.region(), operand.offset(), operand.offset() + operand.bytes(), i >= step.inputs()});
          if (!isAsync(step))
            own.synchronous[operand.region()].push_back(own.all.back());
        }
      }
      own.firstOf.push_back(static_cast<uint32_t>(own.all.size()));
    }
  }

  const program::Step &stepOf(uint32_t task, uint32_t step) const {
    return rankClass.fragments[rankClass.tasks[task].fragment()]->steps[step];
  }
  const FragmentAccesses &accessesOf(uint32_t task) const { return accesses[rankClass.tasks[task].fragment()]; }
  template <typename Visit> void forEachAccess(uint32_t task, uint32_t step, Visit visit) const {
    const FragmentAccesses &own = accessesOf(task);
    for (uint32_t i = own.firstOf[step]; i < own.firstOf[step + 1]; ++i)
      visit(own.all[i]);
  }
  uint64_t baseOf(uint32_t task, uint32_t region) const { return rankClass.bases[rankClass.tasks[task].first_base() + region]; }
  bool sameBase(uint32_t a, uint32_t b, uint32_t region) const { return baseOf(a, region) == baseOf(b, region); }

  /// The steps that an instance is known to wait for: asyncs by number, and all compute steps of the tasks before `chain`.
  struct Known {
    std::vector<uint64_t> words; // of bits, one per async
    uint32_t chain = 0;
    void unite(const Known &other) {
      if (words.size() < other.words.size())
        words.resize(other.words.size());
      for (size_t i = 0; i < other.words.size(); ++i)
        words[i] |= other.words[i];
      chain = std::max(chain, other.chain);
    }
    void add(size_t async) {
      words.resize(std::max(words.size(), async / 64 + 1));
      words[async / 64] |= uint64_t(1) << (async % 64);
    }
    bool has(size_t async) const { return async / 64 < words.size() && words[async / 64] >> (async % 64) & 1; }
  };
  std::vector<Known> asyncKnown; // of asyncs, by number
  Known chainKnown;              // of all compute steps of earlier tasks together
  Known knownBefore;             // the same without the task before this one

  void visit(uint32_t task) {
    const program::FragmentT &fragment = *rankClass.fragments[rankClass.tasks[task].fragment()];
    std::vector<Known> known(fragment.steps.size());
    Known chainEnd = chainKnown;
    bool isBeside = program::overlaps(rankClass.tasks[task]);
    if (!isBeside)
      knownBefore = chainKnown;
    size_t firstOwn = asyncs.size();
    std::vector<size_t> number(fragment.steps.size());
    for (uint32_t index = 0; index < fragment.steps.size(); ++index) {
      const program::Step &step = fragment.steps[index];
      Known &state = known[index];
      for (uint32_t i = 0; i < step.dependency_count(); ++i)
        state.unite(known[fragment.dependencies[step.first_dependency() + i]]);
      if (!isAsync(step)) {
        state.unite(knownBefore);
        state.chain = chainBefore(task);
      }
      forEachAccess(task, index, [&](const TaskAccess &access) { orderAfterEarlier(task, index, access, firstOwn, state); });
      if (isAsync(step)) {
        number[index] = asyncs.size();
        asyncs.emplace_back(task, index);
        state.add(number[index]);
        asyncKnown.push_back(state);
        forEachAccess(task, index, [&](const TaskAccess &access) {
          touching[{access.region, baseOf(task, access.region)}].push_back(number[index]);
        });
      } else {
        chainEnd.unite(state);
      }
    }
    chainKnown = chainEnd;
  }

  /// A task whose compute steps wait for those of all tasks before this one.
  uint32_t chainBefore(uint32_t task) const { return task - program::overlaps(rankClass.tasks[task]); }

  void wait(uint32_t task, uint32_t step, uint32_t onTask, uint32_t onStep) {
    rankClass.task_dependencies.emplace_back(task, step, onTask, onStep);
  }

  /// Adds the edges that one access of a step needs to accesses of earlier tasks, nearest tasks first.
  void orderAfterEarlier(uint32_t task, uint32_t step, const TaskAccess &access, size_t firstOwn, Known &state) {
    const std::vector<size_t> &candidates = touching[{access.region, baseOf(task, access.region)}];
    for (size_t i = candidates.size(); i-- > 0;) {
      size_t async = candidates[i];
      if (async >= firstOwn || state.has(async))
        continue;
      auto [otherTask, otherStep] = asyncs[async];
      bool conflicts = false;
      forEachAccess(otherTask, otherStep, [&](const TaskAccess &other) { conflicts |= conflict(access, other); });
      if (conflicts) {
        wait(task, step, otherTask, otherStep);
        state.unite(asyncKnown[async]);
      }
    }
    if (!isAsync(stepOf(task, step)))
      return;
    // The nearest task with compute steps in conflict; all compute steps of tasks before it come before those, except of one that it
    // overlaps.
    for (uint32_t other = task; other-- > state.chain;) {
      if (!sameBase(task, other, access.region))
        continue;
      std::vector<uint32_t> found;
      for (const TaskAccess &candidate : accessesOf(other).synchronous[access.region])
        if (conflict(access, candidate) && (found.empty() || found.back() != candidate.step))
          found.push_back(candidate.step);
      const program::StepOrder &order = orders[rankClass.tasks[other].fragment()];
      for (uint32_t candidate : found)
        if (std::none_of(found.begin(), found.end(), [&](uint32_t later) { return order.before(candidate, later); }))
          wait(task, step, other, candidate);
      if (found.empty())
        continue;
      state.chain = std::max(state.chain, chainBefore(other));
      if (chainBefore(other) == other)
        break;
    }
  }
};

} // namespace

void addReuseDependencies(program::RankClassT &rankClass) {
  rankClass.task_dependencies.clear();
  Reuse(rankClass).run();
}

} // namespace npar::memory
