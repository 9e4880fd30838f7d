// Words what is over a limit, arena by arena and stage by stage, and what would help.
#include "compiler/passes/export/CheckLimits.h"

#include "compiler/Coded.h"
#include "compiler/attributes/ClauseAttributes.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/dist/Dist.h"
#include "engine/program/Steps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace npar::compiler {

namespace {

std::string human(double bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return llvm::formatv(unit == 0 ? "{0:f0} {1}" : "{0:f2} {1}", bytes, units[unit]).str();
}

std::string percent(double share) { return llvm::formatv("{0:f1} %", 100 * share).str(); }

class Limits {
public:
  Limits(ModuleOp module, const attributes::LimitsClause &limits, const program::ProgramT &program)
      : module(module), limits(limits), program(program) {}

  LogicalResult check() {
    bool good = checkMemory();
    if (program.kind == program::ProgramKind::Training) // a step without backward has another bubble than the plan speaks of
      good &= checkBubble();
    return success(good);
  }

private:
  ModuleOp module;
  const attributes::LimitsClause &limits;
  const program::ProgramT &program;

  Location placeOf(LocationAttr clause) { return clause ? Location(clause) : module.getLoc(); }

  //===- Memory -------------------------------------------------------------------------------------------------------------===//

  /// Bytes by purpose, the largest first.
  static SmallVector<std::pair<StringRef, uint64_t>> contributors(const program::RankClassT &rankClass) {
    SmallVector<std::pair<StringRef, uint64_t>> parts = {{"activations", rankClass.activation_bytes},
                                                         {"gradients", rankClass.gradient_bytes},
                                                         {"optimizer", rankClass.optimizer_bytes},
                                                         {"parameters", rankClass.parameter_bytes}};
    llvm::erase_if(parts, [](auto &part) { return part.second == 0; });
    llvm::stable_sort(parts, [](auto &a, auto &b) { return a.second > b.second; });
    return parts;
  }

  bool checkMemory() {
    if (!limits.memory)
      return true;
    int64_t limit = *limits.memory;
    const program::RankClassT *worst = nullptr;
    size_t over = 0;
    for (const auto &rankClass : program.classes) {
      over += static_cast<int64_t>(rankClass->arena_bytes) > limit;
      if (!worst || rankClass->arena_bytes > worst->arena_bytes)
        worst = rankClass.get();
    }
    if (over == 0)
      return true;
    int64_t arena = static_cast<int64_t>(worst->arena_bytes);
    InFlightDiagnostic error = emitError(placeOf(limits.memoryLoc)) << dsl::Code::M9;
    error << "each rank of '" << worst->name << "' needs " << human(double(arena)) << " (" << arena << " bytes), but the plan allows "
          << human(double(limit)) << " (" << limit << " bytes)";
    if (over > 1)
      error.attachNote(module.getLoc()) << over << " of " << program.classes.size()
                                        << " classes of ranks need more than allowed, this one the most";
    std::string text;
    for (auto [name, bytes] : contributors(*worst))
      text += (text.empty() ? "" : ", ") + (name + " " + human(double(bytes))).str();
    error.attachNote(module.getLoc()) << "it holds " << text;
    helpMemory(error, *worst, arena - limit);
    return false;
  }

  /// Mesh axes that `batch` takes; along them ranks hold equal parameters.
  SmallVector<StringAttr> dataAxes() {
    SmallVector<StringAttr> axes;
    dist::MeshAttr mesh = dist::meshOf(module);
    for (dist::RuleAttr rule : attributes::rules.get(module))
      for (StringAttr axis : rule.getMesh())
        if (rule.getAxis().getValue() == "batch" && mesh.sizeOf(axis) > 1 && !llvm::is_contained(axes, axis))
          axes.push_back(axis);
    return axes;
  }

  bool isStored(StringRef what) {
    return llvm::any_of(attributes::getStores(module), [&](const attributes::StoreClause &store) { return store.what == what; });
  }

  bool hasBlocks() { return attributes::blocks.get(module).value_or(0) > 0; }

  /// The first change that saves enough by its own arithmetic, else the one that touches the largest part.
  void helpMemory(InFlightDiagnostic &error, const program::RankClassT &rankClass, int64_t excess) {
    llvm::StringMap<uint64_t> bytes;
    for (auto [name, size] : contributors(rankClass))
      bytes[name] = size;
    if (SmallVector<StringAttr> axes = dataAxes(); !axes.empty()) {
      double share = 1.0 / double(dist::meshOf(module).sizeOf(axes)), saved = 0;
      std::string whats, mesh;
      for (StringAttr axis : axes)
        mesh += (mesh.empty() ? "" : ", ") + axis.str();
      for (StringRef what : {"optimizer", "gradients", "parameters"}) {
        if (isStored(what))
          continue;
        saved += double(bytes.lookup(what)) * (1 - share);
        whats = what.str() + (whats.empty() ? "" : ", ") + whats;
        if (saved < double(excess))
          continue;
        error.attachNote(placeOf(limits.memoryLoc)) << "help: `store { " << whats << " -> " << mesh << " }` saves about " << human(saved);
        return;
      }
    }
    auto parts = contributors(rankClass);
    if (!parts.empty() && parts.front().first == "activations" && !attributes::recompute.isOn(module) && hasBlocks())
      error.attachNote(placeOf(limits.memoryLoc)) << "help: activations need the most: `recompute block` keeps only the input of each block"
                                                  << (program.micro == 1 ? "" : ", and a smaller `micro` makes them smaller");
    else if (bytes.lookup("optimizer") >= static_cast<uint64_t>(excess)) // which needs no room on the device
      error.attachNote(placeOf(limits.memoryLoc)) << "help: `store { optimizer -> host }` keeps " << human(double(bytes.lookup("optimizer")))
                                                  << " in the memory of the host, which then computes the update";
    else
      error.attachNote(placeOf(limits.memoryLoc))
          << "help: split the model over more ranks" << (program.micro == 1 ? "" : ", or use a smaller `micro`");
  }

  //===- Bubble -------------------------------------------------------------------------------------------------------------===//

  /// The share of the ranks' time, from the first to the last task that runs per micro-batch, in which they wait.
  double bubble() {
    double first = INFINITY, last = 0, busy = 0;
    for (const auto &rankClass : program.classes)
      for (const program::Task &task : rankClass->tasks) {
        if (!program::isWork(rankClass->fragments[task.fragment()]->phase))
          continue;
        first = std::min(first, task.begin()), last = std::max(last, task.end());
        busy += task.end() - task.begin();
      }
    return last > first ? std::max(0.0, 1 - busy / ((last - first) * double(program.classes.size()))) : 0;
  }

  bool checkBubble() {
    if (!limits.bubble)
      return true;
    double allowed = *limits.bubble;
    double waiting = bubble();
    if (waiting <= allowed || program.classes.size() == 1) // a single stage never waits
      return true;
    auto worst = llvm::max_element(program.classes, [](auto &a, auto &b) { return busyOf(*a) > busyOf(*b); });
    InFlightDiagnostic error = emitError(placeOf(limits.bubbleLoc)) << dsl::Code::M9;
    error << "stages wait " << percent(waiting) << " of the planned time, but the plan allows " << percent(allowed);
    error.attachNote(module.getLoc()) << "'" << (*worst)->name << "' waits the most";
    helpBubble(error, static_cast<int64_t>(program.classes.size()), allowed);
    return false;
  }

  static double busyOf(const program::RankClassT &rankClass) {
    double busy = 0;
    for (const program::Task &task : rankClass.tasks)
      busy += task.end() - task.begin();
    return busy;
  }

  /// GPipe and 1F1B wait (p - 1) / (m + p - 1) of the time where all stages take equally long.
  void helpBubble(InFlightDiagnostic &error, int64_t stages, double allowed) {
    StringAttr schedule = attributes::schedule.get(module);
    int64_t has = attributes::microCount.get(module).value_or(1);
    bool closed = schedule && (schedule.getValue() == "1f1b" || schedule.getValue() == "gpipe") && allowed > 0;
    StringRef kind = schedule ? schedule.getValue() : "";
    bool splits = kind.starts_with("zb_") || kind.starts_with("v_") || kind == "dualpipe_v"; // the backward, as those that are advised
    int64_t needed = closed ? static_cast<int64_t>(std::ceil(double(stages - 1) * (1 / allowed - 1) - 1e-9)) : 0;
    if (needed > has)
      error.attachNote(placeOf(limits.bubbleLoc))
          << "help: with equal stages " << needed << " micro-batches would keep within the limit, the step has " << has
          << (program.micro == 1 ? "; a larger batch has" : "; a smaller `micro` makes") << " more of them";
    else
      error.attachNote(placeOf(limits.bubbleLoc)) << (program.micro == 1 ? "help: a larger batch has" : "help: a smaller `micro` makes")
                                                  << " more micro-batches" << (splits ? "" : "; `by zb_h1` or `by zb_v` wait less");
  }
};

} // namespace

LogicalResult checkLimits(ModuleOp module, const program::ProgramT &program) {
  std::optional<attributes::LimitsClause> limits = attributes::getLimits(module);
  return limits ? Limits(module, *limits, program).check() : success();
}

} // namespace npar::compiler
