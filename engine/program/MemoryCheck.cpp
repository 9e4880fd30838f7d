// Checks the memory plan as the engine will run it: what may run at the same time never touches the same bytes when one side writes.
// Order comes from reachability alone (dependencies, the compute chain, task dependencies), never from the order of the program.
#include "engine/program/Checks.h"
#include "engine/program/Describe.h"
#include "engine/program/StepOrder.h"
#include "engine/program/Steps.h"
#include "engine/program/TaskOrder.h"
#include "engine/program/Tiers.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace npar::program {
namespace {

struct Access {
  uint32_t region;
  uint64_t begin, end;
  uint32_t step;
  bool write;
  uint32_t operand; ///< index among the step's inputs or its outputs
};

/// Operands of a fragment's steps. An accumulating product reads what it writes; a write says enough.
std::vector<Access> accessesOf(const Fragment &fragment) {
  std::vector<Access> accesses;
  for (uint32_t index = 0; index < fragment.steps()->size(); ++index) {
    const Step *step = fragment.steps()->Get(index);
    for (uint32_t i = 0; i < uint32_t(step->inputs()) + step->outputs(); ++i) {
      const Operand *operand = fragment.operands()->Get(step->first_operand() + i);
      if (operand->bytes())
        accesses.push_back({operand->region(), operand->offset(), operand->offset() + operand->bytes(), index, i >= step->inputs(),
                            i < step->inputs() ? i : i - step->inputs()});
    }
  }
  return accesses;
}

struct Span {
  uint64_t begin, end;
  std::string name;
};

/// The names of two spans that overlap, or nothing.
std::string overlapOf(std::vector<Span> spans) {
  std::stable_sort(spans.begin(), spans.end(), [](const Span &a, const Span &b) { return a.begin < b.begin; });
  const Span *widest = nullptr;
  for (const Span &span : spans) {
    if (span.begin == span.end)
      continue;
    if (widest && span.begin < widest->end)
      return "'" + widest->name + "' and '" + span.name + "' overlap";
    widest = &span;
  }
  return "";
}

/// One class: its fragments alone, the compute steps of two tasks that overlap, then async steps, which are outside of the compute chain,
/// against all other tasks.
class ClassMemory {
public:
  ClassMemory(const Program &program, const RankClass &rankClass) : program(program), rankClass(rankClass) {}

  std::string run() {
    if (std::string wrong = checkLayout(); !wrong.empty())
      return wrong;
    for (const Fragment *fragment : *rankClass.fragments())
      accesses.push_back(accessesOf(*fragment));
    for (uint32_t index = 0; index < rankClass.fragments()->size(); ++index)
      if (std::string wrong = checkFragment(index); !wrong.empty())
        return wrong;
    if (std::string wrong = checkPairs(); !wrong.empty())
      return wrong;
    return checkTasks();
  }

private:
  const Program &program;
  const RankClass &rankClass;
  std::vector<std::vector<Access>> accesses; // per fragment

  std::string checkLayout() {
    std::vector<Span> regions, pieces;
    const TierBytes tiers = tierBytesOf(rankClass);
    TierBytes ends = {}; // of the regions of each tier
    for (const Region *region : *rankClass.regions()) {
      regions.push_back({region->offset(), region->offset() + region->bytes() * region->slots(), region->name()->str()});
      uint64_t &end = ends[static_cast<size_t>(region->tier())];
      end = std::max(end, regions.back().end - firstOf(tiers, region->tier()));
    }
    for (const Piece *piece : *rankClass.pieces())
      pieces.push_back({piece->offset(), piece->offset() + piece->bytes(), program.variables()->Get(piece->variable())->name()->str()});
    std::string name = rankClass.name()->str();
    if (std::string wrong = overlapOf(regions); !wrong.empty())
      return name + ": regions " + wrong;
    if (std::string wrong = overlapOf(pieces); !wrong.empty())
      return name + ": variables " + wrong;
    for (Tier tier : EnumValuesTier())
      if (uint64_t end = ends[static_cast<size_t>(tier)], bytes = tiers[static_cast<size_t>(tier)]; (end + 63) / 64 * 64 != (bytes + 63) / 64 * 64)
        return name + ": its regions end at " + std::to_string(end) + " bytes, its " +
               (tier == Tier::Device ? "arena" : "tier '" + std::string(wordOf(tier)) + "'") + " has " + std::to_string(bytes);
    return "";
  }

  /// Any task that runs the fragment, to word a message; the fragment's own when none does.
  std::string describe(uint32_t fragment, uint32_t step) {
    for (uint32_t task = 0; task < rankClass.tasks()->size(); ++task)
      if (rankClass.tasks()->Get(task)->fragment() == fragment)
        return describeStep(program, rankClass, task, step);
    return rankClass.name()->str() + " fragment '" + rankClass.fragments()->Get(fragment)->name()->str() + "' step " + std::to_string(step);
  }

  std::string regionName(uint32_t region) { return "'" + rankClass.regions()->Get(region)->name()->str() + "'"; }

  /// Whether a step may write one of two operands that overlap and read the other: as Program.fbs says of Step.
  bool isInPlace(const Step &step, const Access &a, const Access &b) {
    if (a.write == b.write || a.begin != b.begin || a.end != b.end)
      return false;
    if (step.kind() == StepKind::Collective)
      return a.operand == b.operand && program.collectives()->Get(step.payload())->kind() == CollectiveKind::AllReduce;
    return step.kind() == StepKind::Kernel;
  }

  std::string checkFragment(uint32_t index) {
    StepOrder order(*rankClass.fragments()->Get(index));
    std::vector<Access> sorted = accesses[index];
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Access &a, const Access &b) { return a.region != b.region ? a.region < b.region : a.begin < b.begin; });
    std::vector<Access> active;
    for (const Access &access : sorted) {
      active.erase(std::remove_if(active.begin(), active.end(),
                                  [&](const Access &other) { return other.region != access.region || other.end <= access.begin; }),
                   active.end());
      for (const Access &other : active) {
        if (!other.write && !access.write)
          continue;
        if (other.step == access.step) {
          if (!isInPlace(*rankClass.fragments()->Get(index)->steps()->Get(access.step), access, other))
            return describe(index, access.step) + " writes an operand that overlaps another one in region " + regionName(access.region);
          continue;
        }
        uint32_t first = std::min(other.step, access.step), second = std::max(other.step, access.step);
        if (!order.before(first, second))
          return describe(index, first) + " and " + describe(index, second) + " may run at the same time on the same bytes of region " +
                 regionName(access.region) + " at " + std::to_string(access.begin);
      }
      active.push_back(access);
    }
    return "";
  }

  /// Compute steps of two tasks that overlap may run at the same time, whatever they are. Most pairs have the same fragments and share the
  /// same regions.
  std::string checkPairs() {
    std::set<std::vector<uint32_t>> checked;
    for (uint32_t task = 1; task < rankClass.tasks()->size(); ++task) {
      if (!overlaps(*rankClass.tasks()->Get(task)))
        continue;
      const Task &first = *rankClass.tasks()->Get(task - 1), &second = *rankClass.tasks()->Get(task);
      std::vector<uint32_t> pair{first.fragment(), second.fragment()};
      std::vector<bool> isShared;
      for (uint32_t region = 0; region < rankClass.regions()->size(); ++region) {
        isShared.push_back(rankClass.bases()->Get(first.first_base() + region) == rankClass.bases()->Get(second.first_base() + region));
        if (isShared.back())
          pair.push_back(region);
      }
      if (!checked.insert(pair).second)
        continue;
      if (std::string wrong = checkPair(task, isShared); !wrong.empty())
        return wrong;
    }
    return "";
  }

  std::string checkPair(uint32_t second, const std::vector<bool> &isShared) {
    struct PairAccess {
      Access access;
      bool isSecond;
    };
    std::vector<PairAccess> sorted;
    for (uint32_t task : {second - 1, second}) {
      uint32_t fragment = rankClass.tasks()->Get(task)->fragment();
      for (const Access &access : accesses[fragment])
        if (isShared[access.region] && !isAsync(*rankClass.fragments()->Get(fragment)->steps()->Get(access.step)))
          sorted.push_back({access, task == second});
    }
    std::stable_sort(sorted.begin(), sorted.end(), [](const PairAccess &a, const PairAccess &b) {
      return std::pair(a.access.region, a.access.begin) < std::pair(b.access.region, b.access.begin);
    });
    std::vector<PairAccess> active;
    for (const PairAccess &each : sorted) {
      active.erase(std::remove_if(active.begin(), active.end(),
                                  [&](const PairAccess &other) {
                                    return other.access.region != each.access.region || other.access.end <= each.access.begin;
                                  }),
                   active.end());
      for (const PairAccess &other : active)
        if (other.isSecond != each.isSecond && (other.access.write || each.access.write)) {
          const PairAccess &early = other.isSecond ? each : other, &late = other.isSecond ? other : each;
          return describeStep(program, rankClass, second - 1, early.access.step) + " and " +
                 describeStep(program, rankClass, second, late.access.step) + " may run at the same time on the same bytes of region " +
                 regionName(each.access.region);
        }
      active.push_back(each);
    }
    return "";
  }

  /// The history of a range of bytes: the last write, and its readers since. Compute readers are kept only for the latest task that read,
  /// and the one that it overlaps: they come after all those of earlier tasks.
  struct Cell {
    uint64_t end = 0;
    std::vector<std::pair<uint32_t, uint32_t>> writers, asyncReaders, readers; // task, step; at most one writer
  };

  /// Bytes of regions that async steps touch: elsewhere the compute chain orders all tasks.
  std::vector<std::vector<Span>> asyncBytes() {
    std::vector<std::vector<Span>> bytes(rankClass.regions()->size());
    for (uint32_t index = 0; index < accesses.size(); ++index)
      for (const Access &access : accesses[index])
        if (isAsync(*rankClass.fragments()->Get(index)->steps()->Get(access.step)))
          bytes[access.region].push_back({access.begin, access.end, ""});
    for (std::vector<Span> &spans : bytes) {
      std::sort(spans.begin(), spans.end(), [](const Span &a, const Span &b) { return a.begin < b.begin; });
      std::vector<Span> merged;
      for (const Span &span : spans)
        if (!merged.empty() && span.begin <= merged.back().end)
          merged.back().end = std::max(merged.back().end, span.end);
        else
          merged.push_back(span);
      spans.swap(merged);
    }
    return bytes;
  }

  /// Every access must wait for the last write of its bytes, and a write also for the reads since; all other pairs follow by induction.
  std::string checkTasks() {
    std::vector<std::vector<Span>> bytes = asyncBytes();
    if (std::all_of(bytes.begin(), bytes.end(), [](const std::vector<Span> &spans) { return spans.empty(); }))
      return "";
    std::vector<std::vector<Access>> clipped(accesses.size());
    for (uint32_t index = 0; index < accesses.size(); ++index)
      for (const Access &access : accesses[index])
        for (const Span &span : bytes[access.region])
          if (span.begin < access.end && access.begin < span.end)
            clipped[index].push_back({access.region, std::max(span.begin, access.begin), std::min(span.end, access.end), access.step,
                                      access.write, access.operand});
    const auto &tasks = *rankClass.tasks();
    TaskOrder order(rankClass);
    std::map<uint64_t, Cell> cells; // by first byte of the arena
    for (uint32_t task = 0; task < tasks.size(); ++task) {
      uint32_t fragment = tasks[task]->fragment();
      size_t next = 0;
      for (uint32_t step = 0; step < rankClass.fragments()->Get(fragment)->steps()->size(); ++step) {
        order.enter(task, step);
        for (; next < clipped[fragment].size() && clipped[fragment][next].step == step; ++next) {
          const Access &access = clipped[fragment][next];
          uint64_t base = rankClass.bases()->Get(tasks[task]->first_base() + access.region);
          auto other = unordered(order, cells, base + access.begin, base + access.end, {task, step}, access.write);
          if (other)
            return describeStep(program, rankClass, other->first, other->second) + " and " + describeStep(program, rankClass, task, step) +
                   " may run at the same time on the same bytes of region " + regionName(access.region);
        }
      }
    }
    return "";
  }

  using TaskStep = std::pair<uint32_t, uint32_t>; // task, step

  /// Enters an access into the cells; an earlier one in conflict that it does not wait for, if any.
  std::optional<TaskStep> unordered(const TaskOrder &order, std::map<uint64_t, Cell> &cells, uint64_t begin, uint64_t end, TaskStep self,
                                    bool write) {
    splitCells(cells, begin);
    splitCells(cells, end);
    for (auto cell = cells.lower_bound(begin); begin < end; ++cell) {
      if (cell == cells.end() || cell->first > begin) {
        cell = cells.emplace(begin, Cell{}).first;
        cell->second.end = std::next(cell) == cells.end() ? end : std::min(end, std::next(cell)->first);
      }
      Cell &state = cell->second;
      begin = state.end;
      auto early = [&](const TaskStep &other) { return other != self && !order.waitsFor(other.first, other.second); };
      for (const std::vector<TaskStep> *others : {&state.writers, &state.asyncReaders, &state.readers}) {
        if (others != &state.writers && !write)
          break;
        if (auto found = std::find_if(others->begin(), others->end(), early); found != others->end())
          return *found;
      }
      if (write) {
        state = {state.end, {self}, {}, {}};
      } else if (order.isAsync(self.first, self.second)) {
        state.asyncReaders.push_back(self);
      } else {
        uint32_t earliest = firstOfPair(rankClass, self.first);
        state.readers.erase(
            std::remove_if(state.readers.begin(), state.readers.end(), [&](const TaskStep &reader) { return reader.first < earliest; }),
            state.readers.end());
        state.readers.push_back(self);
      }
    }
    return std::nullopt;
  }

  /// Splits the cell that contains `at`, so that a cell begins there.
  static void splitCells(std::map<uint64_t, Cell> &cells, uint64_t at) {
    auto cell = cells.upper_bound(at);
    if (cell == cells.begin() || std::prev(cell)->first == at || std::prev(cell)->second.end <= at)
      return;
    Cell &left = std::prev(cell)->second;
    cells.emplace(at, left);
    left.end = at;
  }
};

} // namespace

std::string checkMemory(const Program &program) {
  for (const RankClass *rankClass : *program.classes())
    if (std::string wrong = ClassMemory(program, *rankClass).run(); !wrong.empty())
      return wrong;
  return "";
}

} // namespace npar::program
