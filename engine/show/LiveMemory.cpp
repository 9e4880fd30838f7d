// Walks each slot of each region through the tasks that use it: a write opens a value, the last read before the next write ends it.
//
//   task     F0:0              B0:0              F0:4 (same slot)
//   slot     write .. read ... read |  free  |   write ...
#include "engine/show/LiveMemory.h"

#include "engine/program/Tiers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace npar::show {

using namespace npar::program;

namespace {

bool startsWith(const std::string &text, const char *prefix) { return text.rfind(prefix, 0) == 0; }

MemoryKind kindOf(const std::string &region) {
  if (startsWith(region, "stash"))
    return MemoryKind::Stash;
  if (startsWith(region, "inbox") || startsWith(region, "outbox"))
    return MemoryKind::Boxes;
  return startsWith(region, "input") ? MemoryKind::Inputs : MemoryKind::Scratch;
}

/// One use of one segment by one step of a fragment.
struct Access {
  uint32_t step = 0, segment = 0;
  bool reads = false, writes = false;
};

/// A value in a segment: begin and end are a task and seconds relative to its begin.
struct Life {
  MemoryKind kind = MemoryKind::Scratch;
  uint64_t bytes = 0;
  uint32_t label = 0;
  uint32_t fromTask = noTask; ///< noTask: there at the step's start
  double from = 0;
  uint32_t toTask = 0;
  double to = 0;
};

class Walk {
public:
  Walk(const Program &program, const RankClass &rankClass, const ClassView &view, std::function<void(const Life &)> visit)
      : program(program), rankClass(rankClass), view(view), visit(std::move(visit)) {}

  void run() {
    for (uint32_t region = 1; region < rankClass.regions()->size(); ++region) {
      if (rankClass.regions()->Get(region)->tier() != Tier::Device)
        continue;
      kind = kindOf(rankClass.regions()->Get(region)->name()->str());
      cutSegments(region);
      std::vector<std::vector<Access>> accesses;
      for (uint32_t fragment = 0; fragment < view.fragments.size(); ++fragment)
        accesses.push_back(accessesOf(fragment, region));
      std::map<uint64_t, std::vector<uint32_t>> chains; // slot -> tasks that use it
      for (uint32_t task = 0; task < view.tasks.size(); ++task)
        if (!accesses[view.tasks[task].fragment].empty())
          chains[rankClass.bases()->Get(rankClass.tasks()->Get(task)->first_base() + region)].push_back(task);
      for (const auto &[base, tasks] : chains)
        walkSlot(tasks, accesses);
    }
  }

private:
  struct Open {
    bool live = false, read = false;
    uint32_t fromTask = noTask, label = 0, toTask = 0;
    MemoryKind kind = MemoryKind::Scratch;
    double from = 0, to = 0;
  };

  const Program &program;
  const RankClass &rankClass;
  const ClassView &view;
  std::function<void(const Life &)> visit;
  MemoryKind kind = MemoryKind::Scratch;
  std::vector<uint64_t> bounds; ///< of the region: segment i is [bounds[i], bounds[i + 1])

  template <typename Visit> void forEachOperand(const Fragment &fragment, uint32_t region, Visit visitOperand) {
    for (uint32_t index = 0; index < fragment.steps()->size(); ++index) {
      const Step &step = *fragment.steps()->Get(index);
      uint32_t count = step.inputs() + step.outputs();
      for (uint32_t i = 0; i < count; ++i)
        if (const Operand &operand = *fragment.operands()->Get(step.first_operand() + i); operand.region() == region && operand.bytes())
          visitOperand(index, step, i, operand);
    }
  }

  void cutSegments(uint32_t region) {
    bounds.clear();
    for (const Fragment *fragment : *rankClass.fragments())
      forEachOperand(*fragment, region, [&](uint32_t, const Step &, uint32_t, const Operand &operand) {
        bounds.push_back(operand.offset());
        bounds.push_back(operand.offset() + operand.bytes());
      });
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  }

  /// The list is in step order; a step that reads and writes a segment has one access.
  std::vector<Access> accessesOf(uint32_t index, uint32_t region) {
    std::vector<Access> result;
    std::map<std::pair<uint32_t, uint32_t>, size_t> known; // step, segment
    forEachOperand(*rankClass.fragments()->Get(index), region, [&](uint32_t at, const Step &step, uint32_t i, const Operand &operand) {
      bool output = i >= step.inputs();
      bool adds = output && step.kind() == StepKind::Matmul && program.matmuls()->Get(step.payload())->accumulate();
      auto first = std::lower_bound(bounds.begin(), bounds.end(), operand.offset()) - bounds.begin();
      for (size_t segment = static_cast<size_t>(first); bounds[segment] < operand.offset() + operand.bytes(); ++segment) {
        auto [entry, isNew] = known.emplace(std::pair(at, static_cast<uint32_t>(segment)), result.size());
        if (isNew)
          result.push_back({at, static_cast<uint32_t>(segment)});
        Access &access = result[entry->second];
        access.reads |= !output || adds;
        access.writes |= output;
      }
    });
    return result;
  }

  void walkSlot(const std::vector<uint32_t> &tasks, const std::vector<std::vector<Access>> &accesses) {
    std::vector<Open> open(bounds.size());
    for (uint32_t task : tasks) {
      const ViewFragment &fragment = view.fragments[view.tasks[task].fragment];
      for (const Access &access : accesses[view.tasks[task].fragment]) {
        Open &value = open[access.segment];
        const ViewStep &step = fragment.steps[access.step];
        if (access.reads) {
          if (!value.live) {
            value = Open();
            value.live = true, value.label = step.label, value.kind = kind;
          }
          value.read = true, value.toTask = task, value.to = access.writes ? step.begin : step.end;
        }
        if (access.writes) {
          close(access.segment, value, task, step.begin);
          value.live = true, value.read = false, value.label = step.label;
          value.kind = kind;
          value.fromTask = value.toTask = task, value.from = step.begin, value.to = step.end;
        }
      }
    }
    for (uint32_t segment = 0; segment < open.size(); ++segment)
      close(segment, open[segment], noTask, 0);
  }

  /// A value that ends after the write which replaces it, by the planned times of messages, ends there.
  void close(uint32_t segment, Open &value, uint32_t nextTask, double next) {
    if (!value.live)
      return;
    if (nextTask != noTask && view.tasks[value.toTask].begin + value.to > view.tasks[nextTask].begin + next)
      value.toTask = nextTask, value.to = next;
    value.live = false;
    visit({value.kind, bounds[segment + 1] - bounds[segment], value.label, value.fromTask, value.from, value.toTask, value.to});
  }
};

MemoryKind kindOf(VariableKind kind) {
  switch (kind) {
  case VariableKind::Parameter:
    return MemoryKind::Parameters;
  case VariableKind::State:
    return MemoryKind::Optimizer;
  case VariableKind::Accumulator:
    return MemoryKind::Gradients;
  case VariableKind::Output:
    break;
  }
  return MemoryKind::Scratch;
}

void addVariables(const Program &program, const RankClass &rankClass, ClassMemory &memory) {
  for (const Piece *piece : *rankClass.pieces()) {
    if (tierAt(tierBytesOf(rankClass), piece->offset()).tier != Tier::Device)
      continue;
    const Variable &variable = *program.variables()->Get(piece->variable());
    MemoryKind kind = kindOf(variable.kind());
    memory.always[static_cast<size_t>(kind)] += piece->bytes();
    memory.peak.push_back({kind, variable.name()->str(), "", piece->bytes(), 1});
  }
}

/// Bytes that become live or free at a time in ns after the task begins.
struct Change {
  int64_t at;
  MemoryKind kind;
  int64_t bytes;
};

/// Neighbouring segments get live and free together, so most changes are added to one of the last few.
void addChange(std::vector<Change> &changes, const Change &change) {
  size_t oldest = changes.size() > 4 ? changes.size() - 4 : 0;
  for (size_t i = changes.size(); i-- > oldest;)
    if (changes[i].at == change.at && changes[i].kind == change.kind) {
      changes[i].bytes += change.bytes;
      return;
    }
  changes.push_back(change);
}

/// The changes of a task in order, each as ns, kind and bytes. Changes of the same time and kind are added up.
std::vector<int64_t> patternOf(std::vector<Change> &changes) {
  std::sort(changes.begin(), changes.end(), [](const Change &a, const Change &b) { return a.at != b.at ? a.at < b.at : a.kind < b.kind; });
  std::vector<int64_t> pattern;
  for (size_t i = 0; i < changes.size();) {
    size_t first = i;
    int64_t bytes = 0;
    for (; i < changes.size() && changes[i].at == changes[first].at && changes[i].kind == changes[first].kind; ++i)
      bytes += changes[i].bytes;
    if (bytes)
      pattern.insert(pattern.end(), {changes[first].at, static_cast<int64_t>(changes[first].kind), bytes});
  }
  return pattern;
}

void sharePatterns(std::vector<std::vector<Change>> &changes, ClassView &view) {
  std::map<std::vector<int64_t>, uint32_t> known;
  for (size_t task = 0; task < changes.size(); ++task) {
    std::vector<int64_t> key = patternOf(changes[task]);
    auto [entry, isNew] = known.emplace(std::move(key), static_cast<uint32_t>(view.memory.patterns.size()));
    view.tasks[task].pattern = entry->second;
    if (!isNew)
      continue;
    view.memory.patterns.emplace_back();
    for (size_t i = 0; i + 2 < entry->first.size(); i += 3)
      view.memory.patterns.back().push_back(
          {static_cast<double>(entry->first[i]) * 1e-9, static_cast<MemoryKind>(entry->first[i + 1]), entry->first[i + 2]});
  }
}

void findPeak(ClassView &view) {
  std::vector<std::pair<int64_t, int64_t>> events; // ns, bytes: what is freed sorts before what is taken at the same time
  for (const ViewTask &task : view.tasks)
    for (const MemoryChange &change : view.memory.patterns[task.pattern])
      events.emplace_back(nanoseconds(task.begin) + nanoseconds(change.at), change.bytes);
  std::sort(events.begin(), events.end());
  int64_t live = 0;
  for (size_t kind = 0; kind < memoryKinds; ++kind)
    live += static_cast<int64_t>(view.memory.always[kind] + view.memory.atStart[kind]);
  int64_t most = live, when = 0;
  for (auto [at, bytes] : events)
    if ((live += bytes) > most)
      most = live, when = at;
  view.memory.peakBytes = static_cast<uint64_t>(most);
  view.memory.peakAt = static_cast<double>(when) * 1e-9;
}

} // namespace

int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

void findLiveMemory(const Program &program, const RankClass &rankClass, const std::vector<ViewLabel> &labels, ClassView &view) {
  view.memory = ClassMemory();
  addVariables(program, rankClass, view.memory);
  std::vector<std::vector<Change>> changes(view.tasks.size());
  Walk(program, rankClass, view, [&](const Life &life) {
    int64_t bytes = static_cast<int64_t>(life.bytes);
    if (life.fromTask == noTask)
      view.memory.atStart[static_cast<size_t>(life.kind)] += life.bytes;
    else
      addChange(changes[life.fromTask], {nanoseconds(life.from), life.kind, bytes});
    addChange(changes[life.toTask], {nanoseconds(life.to), life.kind, -bytes});
  }).run();
  sharePatterns(changes, view);
  findPeak(view);

  int64_t peak = nanoseconds(view.memory.peakAt);
  auto at = [&](uint32_t task, double seconds) { return nanoseconds(view.tasks[task].begin) + nanoseconds(seconds); };
  std::map<std::tuple<MemoryKind, uint32_t>, std::map<uint32_t, uint64_t>> live; // kind, label -> task -> bytes
  Walk(program, rankClass, view, [&](const Life &life) {
    if ((life.fromTask == noTask || at(life.fromTask, life.from) <= peak) && at(life.toTask, life.to) > peak)
      live[{life.kind, life.label}][life.fromTask] += life.bytes;
  }).run();
  for (const auto &[key, tasks] : live) {
    const ViewLabel &label = labels[std::get<1>(key)];
    uint64_t bytes = 0;
    for (const auto &[task, size] : tasks)
      bytes += size;
    view.memory.peak.push_back({std::get<0>(key), label.text, label.place(), bytes, static_cast<uint32_t>(tasks.size())});
  }
  std::stable_sort(view.memory.peak.begin(), view.memory.peak.end(), [](const auto &a, const auto &b) { return a.bytes > b.bytes; });
}

} // namespace npar::show
