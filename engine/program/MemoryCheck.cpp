// Checks the memory plan as the engine will run it: what may run at the same time never touches the same bytes when one side writes.
// Order comes from reachability alone (dependencies, the compute chain, task dependencies), never from the order of the program.
#include "engine/program/Checks.h"
#include "engine/program/Mesh.h"
#include "engine/program/StepOrder.h"

#include <algorithm>
#include <map>

namespace npar::program {
namespace {

struct Access {
  uint32_t region;
  uint64_t begin, end;
  uint32_t step;
  bool write;
};

/// Operands of a fragment's steps. An accumulating product reads what it writes; a write says enough.
std::vector<Access> accessesOf(const Fragment &fragment) {
  std::vector<Access> accesses;
  for (uint32_t index = 0; index < fragment.steps()->size(); ++index) {
    const Step *step = fragment.steps()->Get(index);
    for (uint32_t i = 0; i < uint32_t(step->inputs()) + step->outputs(); ++i) {
      const Operand *operand = fragment.operands()->Get(step->first_operand() + i);
      if (operand->bytes())
        accesses.push_back({operand->region(), operand->offset(), operand->offset() + operand->bytes(), index, i >= step->inputs()});
    }
  }
  return accesses;
}

bool isAsync(const Step &step) { return step.kind() == StepKind::Send || step.kind() == StepKind::Receive; }

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

/// One class: its fragments alone, then Send and Receive (the only steps outside the compute chain) against all other tasks.
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
    return checkTasks();
  }

private:
  const Program &program;
  const RankClass &rankClass;
  std::vector<std::vector<Access>> accesses; // per fragment

  std::string checkLayout() {
    std::vector<Span> regions, pieces;
    uint64_t total = 0;
    for (const Region *region : *rankClass.regions()) {
      regions.push_back({region->offset(), region->offset() + region->bytes() * region->slots(), region->name()->str()});
      total = std::max(total, regions.back().end);
    }
    for (const Piece *piece : *rankClass.pieces())
      pieces.push_back({piece->offset(), piece->offset() + piece->bytes(), program.variables()->Get(piece->variable())->name()->str()});
    std::string name = rankClass.name()->str();
    if (std::string wrong = overlapOf(regions); !wrong.empty())
      return name + ": regions " + wrong;
    if (std::string wrong = overlapOf(pieces); !wrong.empty())
      return name + ": variables " + wrong;
    if ((total + 63) / 64 * 64 != (rankClass.arena_bytes() + 63) / 64 * 64)
      return name + ": its regions end at " + std::to_string(total) + " bytes, its arena has " + std::to_string(rankClass.arena_bytes());
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
          bool inPlace = other.write != access.write && other.begin == access.begin;
          if (!inPlace)
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

  std::string checkTasks() {
    const auto &tasks = *rankClass.tasks();
    auto stepsOf = [&](uint32_t task) -> const auto & { return *rankClass.fragments()->Get(tasks[task]->fragment())->steps(); };
    // Nodes: steps of all tasks; after those of task t, the node that all compute steps of task t + 1 wait for.
    std::vector<uint32_t> first(tasks.size() + 1, 0);
    struct Async {
      uint32_t task, step;
    };
    std::vector<Async> asyncs;
    for (uint32_t task = 0; task < tasks.size(); ++task) {
      first[task + 1] = first[task] + stepsOf(task).size() + 1;
      for (uint32_t step = 0; step < stepsOf(task).size(); ++step)
        if (isAsync(*stepsOf(task)[step]))
          asyncs.push_back({task, step});
    }
    if (asyncs.empty())
      return "";
    std::multimap<uint32_t, uint32_t> waits; // node -> node that it waits for, across tasks
    for (const TaskDependency *edge : *rankClass.task_dependencies())
      waits.emplace(first[edge->task()] + edge->step(), first[edge->on_task()] + edge->on_step());
    auto forEachEdge = [&](uint32_t task, uint32_t step, auto visit) {
      const Fragment &fragment = *rankClass.fragments()->Get(tasks[task]->fragment());
      const Step &node = *fragment.steps()->Get(step);
      for (uint32_t i = 0; i < node.dependency_count(); ++i)
        visit(first[task] + fragment.dependencies()->Get(node.first_dependency() + i));
      if (!isAsync(node) && task > 0)
        visit(first[task] - 1);
      for (auto [edge, end] = waits.equal_range(first[task] + step); edge != end; ++edge)
        visit(edge->second);
    };
    // seen: which asyncs a node waits for; leads: which asyncs wait for it.
    BitMatrix seen(first.back(), asyncs.size()), leads(first.back(), asyncs.size());
    for (uint32_t i = 0; i < asyncs.size(); ++i) {
      seen.set(first[asyncs[i].task] + asyncs[i].step, i);
      leads.set(first[asyncs[i].task] + asyncs[i].step, i);
    }
    for (uint32_t task = 0; task < tasks.size(); ++task) {
      uint32_t chain = first[task + 1] - 1;
      if (task > 0)
        seen.unite(chain, first[task] - 1);
      for (uint32_t step = 0; step < stepsOf(task).size(); ++step) {
        forEachEdge(task, step, [&](uint32_t earlier) { seen.unite(first[task] + step, earlier); });
        if (!isAsync(*stepsOf(task)[step]))
          seen.unite(chain, first[task] + step);
      }
    }
    for (uint32_t task = tasks.size(); task-- > 0;) {
      uint32_t chain = first[task + 1] - 1;
      for (uint32_t step = stepsOf(task).size(); step-- > 0;) {
        if (!isAsync(*stepsOf(task)[step]))
          leads.unite(first[task] + step, chain);
        forEachEdge(task, step, [&](uint32_t earlier) { leads.unite(earlier, first[task] + step); });
      }
      if (task > 0)
        leads.unite(first[task] - 1, chain);
    }
    std::vector<std::vector<std::vector<Access>>> byRegion(accesses.size());
    for (uint32_t fragment = 0; fragment < accesses.size(); ++fragment) {
      byRegion[fragment].resize(rankClass.regions()->size());
      for (const Access &access : accesses[fragment])
        byRegion[fragment][access.region].push_back(access);
    }
    auto baseOf = [&](uint32_t task, uint32_t region) { return rankClass.bases()->Get(tasks[task]->first_base() + region); };
    for (uint32_t i = 0; i < asyncs.size(); ++i) {
      auto [task, step] = asyncs[i];
      for (const Access &own : accesses[tasks[task]->fragment()]) {
        if (own.step != step)
          continue;
        for (uint32_t other = 0; other < tasks.size(); ++other) {
          if (other == task || baseOf(other, own.region) != baseOf(task, own.region))
            continue;
          for (const Access &access : byRegion[tasks[other]->fragment()][own.region]) {
            bool conflict = (own.write || access.write) && own.begin < access.end && access.begin < own.end;
            if (conflict && !(other > task ? seen : leads).test(first[other] + access.step, i))
              return describeStep(program, rankClass, task, step) + " and " + describeStep(program, rankClass, other, access.step) +
                     " may run at the same time on the same bytes of region " + regionName(own.region);
          }
        }
      }
    }
    return "";
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
