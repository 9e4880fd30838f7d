// The pass export-check-limits: what the plan promises by `require` against what was planned, arena by arena and stage by stage.
#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/rank/Rank.h"
#include "compiler/passes/export/Export.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace npar {

#define GEN_PASS_DEF_EXPORTCHECKLIMITS
#include "compiler/passes/export/Passes.h.inc"

namespace {

std::string human(double bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return llvm::formatv(unit == 0 ? "{0:f0} {1}" : "{0:f2} {1}", bytes, units[unit]).str();
}

std::string percent(double share) { return llvm::formatv("{0:f1} %", 100 * share).str(); }

struct ExportCheckLimits : impl::ExportCheckLimitsBase<ExportCheckLimits> {
  void runOnOperation() override {
    module = getOperation();
    limits = module->getAttrOfType<DictionaryAttr>("npar.require");
    if (!limits)
      return;
    bool good = checkMemory();
    good &= checkBubble();
    if (!good)
      signalPassFailure();
  }

private:
  ModuleOp module;
  DictionaryAttr limits;

  Location placeOf(StringRef name) {
    auto at = limits.getAs<LocationAttr>(name);
    return at ? Location(at) : module.getLoc();
  }

  //===- Memory -------------------------------------------------------------------------------------------------------------===//

  /// Bytes by purpose, the largest first.
  static SmallVector<std::pair<StringRef, int64_t>> contributors(rank::ProgramOp program) {
    SmallVector<std::pair<StringRef, int64_t>> parts;
    for (NamedAttribute part : program.getMemory())
      if (auto bytes = dyn_cast<IntegerAttr>(part.getValue()); bytes && bytes.getInt() > 0)
        parts.emplace_back(part.getName().getValue(), bytes.getInt());
    llvm::stable_sort(parts, [](auto &a, auto &b) { return a.second > b.second; });
    return parts;
  }

  bool checkMemory() {
    auto limit = limits.getAs<IntegerAttr>("memory");
    if (!limit)
      return true;
    rank::ProgramOp worst;
    size_t over = 0, classes = 0;
    for (rank::ProgramOp program : module.getOps<rank::ProgramOp>()) {
      ++classes;
      over += static_cast<int64_t>(program.getArena()) > limit.getInt();
      if (!worst || program.getArena() > worst.getArena())
        worst = program;
    }
    if (over == 0)
      return true;
    int64_t arena = static_cast<int64_t>(worst.getArena());
    InFlightDiagnostic error = emitError(placeOf("memory_loc"));
    error << "each rank of '" << worst.getSymName() << "' needs " << human(double(arena)) << " (" << arena << " bytes), the plan allows "
          << human(double(limit.getInt())) << " (" << limit.getInt() << " bytes)";
    if (over > 1)
      error.attachNote(module.getLoc()) << over << " of " << classes << " classes of ranks need more than allowed, this one the most";
    std::string text;
    for (auto [name, bytes] : contributors(worst))
      text += (text.empty() ? "" : ", ") + (name + " " + human(double(bytes))).str();
    error.attachNote(module.getLoc()) << "it holds " << text;
    helpMemory(error, worst, arena - limit.getInt());
    return false;
  }

  /// Mesh axes that `batch` takes; along them ranks hold equal parameters.
  SmallVector<StringAttr> dataAxes() {
    SmallVector<StringAttr> axes;
    dist::MeshAttr mesh = dist::meshOf(module);
    if (auto rules = module->getAttrOfType<ArrayAttr>("dist.rules"))
      for (dist::RuleAttr rule : rules.getAsRange<dist::RuleAttr>())
        for (StringAttr axis : rule.getMesh())
          if (rule.getAxis().getValue() == "batch" && mesh.sizeOf(axis) > 1 && !llvm::is_contained(axes, axis))
            axes.push_back(axis);
    return axes;
  }

  bool isStored(StringRef what) {
    auto stores = module->getAttrOfType<ArrayAttr>("dist.stores");
    return stores && llvm::any_of(stores.getAsRange<DictionaryAttr>(), [&](DictionaryAttr store) {
             auto word = store.getAs<StringAttr>("what");
             return word && word.getValue() == what;
           });
  }

  bool hasBlocks() {
    auto blocks = module->getAttrOfType<IntegerAttr>("npar.blocks");
    return blocks && blocks.getInt() > 0;
  }

  /// The first change that saves enough by its own arithmetic, else the one that touches the largest part.
  void helpMemory(InFlightDiagnostic &error, rank::ProgramOp program, int64_t excess) {
    llvm::StringMap<int64_t> bytes;
    for (auto [name, size] : contributors(program))
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
        error.attachNote(placeOf("memory_loc")) << "help: `store { " << whats << " -> " << mesh << " }` saves about " << human(saved);
        return;
      }
    }
    auto parts = contributors(program);
    if (!parts.empty() && parts.front().first == "activations" && !module->hasAttr("npar.recompute") && hasBlocks())
      error.attachNote(placeOf("memory_loc")) << "help: activations are the most: `recompute block` keeps what enters a block only, and a "
                                                 "smaller `micro` makes them smaller";
    else
      error.attachNote(placeOf("memory_loc")) << "help: split the model over more ranks, or use a smaller `micro`";
  }

  //===- Bubble -------------------------------------------------------------------------------------------------------------===//

  /// The share of the ranks' time, from the first to the last task that runs per micro-batch, in which they wait.
  static double bubbleOf(ArrayRef<rank::ProgramOp> programs) {
    double first = INFINITY, last = 0, busy = 0;
    for (rank::ProgramOp program : programs) {
      llvm::StringMap<rank::Phase> phases;
      for (rank::FragmentOp fragment : program.getBody().getOps<rank::FragmentOp>())
        phases[fragment.getName()] = fragment.getPhase();
      for (rank::TaskOp task : program.getBody().getOps<rank::TaskOp>()) {
        rank::Phase phase = phases.lookup(task.getFragment());
        if (phase == rank::Phase::Prologue || phase == rank::Phase::Count || phase == rank::Phase::Update)
          continue;
        double begin = task.getBegin().convertToDouble(), end = task.getEnd().convertToDouble();
        first = std::min(first, begin), last = std::max(last, end);
        busy += end - begin;
      }
    }
    return last > first ? std::max(0.0, 1 - busy / ((last - first) * double(programs.size()))) : 0;
  }

  bool checkBubble() {
    auto limit = limits.getAs<FloatAttr>("bubble");
    if (!limit)
      return true;
    double allowed = limit.getValueAsDouble();
    SmallVector<rank::ProgramOp> programs(module.getOps<rank::ProgramOp>());
    double bubble = bubbleOf(programs);
    if (bubble <= allowed || programs.size() == 1) // one stage waits for nobody
      return true;
    auto worst = llvm::max_element(programs, [](rank::ProgramOp a, rank::ProgramOp b) { return busyOf(a) > busyOf(b); });
    InFlightDiagnostic error = emitError(placeOf("bubble_loc"));
    error << "stages wait " << percent(bubble) << " of the planned time, the plan allows " << percent(allowed);
    error.attachNote(module.getLoc()) << "'" << worst->getSymName() << "' waits the most";
    helpBubble(error, static_cast<int64_t>(programs.size()), allowed);
    return false;
  }

  static double busyOf(rank::ProgramOp program) {
    double busy = 0;
    for (rank::TaskOp task : program.getBody().getOps<rank::TaskOp>())
      busy += task.getEnd().convertToDouble() - task.getBegin().convertToDouble();
    return busy;
  }

  /// GPipe and 1F1B wait (p - 1) / (m + p - 1) of the time where all stages take equally long.
  void helpBubble(InFlightDiagnostic &error, int64_t stages, double allowed) {
    auto schedule = module->getAttrOfType<StringAttr>("pipe.schedule");
    auto micros = module->getAttrOfType<IntegerAttr>("npar.micro_count");
    int64_t has = micros ? micros.getInt() : 1;
    bool closed = schedule && (schedule.getValue() == "1f1b" || schedule.getValue() == "gpipe") && allowed > 0;
    StringRef kind = schedule ? schedule.getValue() : "";
    bool splits = kind.starts_with("zb_") || kind.starts_with("v_") || kind == "dualpipe_v"; // the backward, as those that are advised
    int64_t needed = closed ? static_cast<int64_t>(std::ceil(double(stages - 1) * (1 / allowed - 1) - 1e-9)) : 0;
    if (needed > has)
      error.attachNote(placeOf("bubble_loc")) << "help: with equal stages " << needed
                                              << " micro-batches would wait so little, the step has " << has
                                              << "; a smaller `micro` makes more of them";
    else
      error.attachNote(placeOf("bubble_loc")) << "help: a smaller `micro` makes more micro-batches"
                                              << (splits ? "" : "; `by zb_h1` or `by zb_v` wait less");
  }
};

} // namespace

std::unique_ptr<Pass> createExportCheckLimitsPass() { return std::make_unique<ExportCheckLimits>(); }

} // namespace npar
