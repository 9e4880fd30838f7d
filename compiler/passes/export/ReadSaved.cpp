// Lays the values on the parts that keep them, and walks each stage's order for the most that it keeps at a time.
#include "compiler/passes/export/ReadSaved.h"

#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/attributes/TableAttributes.h"
#include "compiler/dialects/pipe/Pipe.h"
#include "compiler/passes/schedule/Stages.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace mlir;
using npar::memory::SavedActivations;

namespace npar::compiler {
namespace {

using As = SavedActivations::As;

class Reader {
public:
  explicit Reader(ModuleOp module) : module(module) {}

  SavedActivations run() {
    findParts();
    std::vector<attributes::SavedEntry> entries = attributes::getSavedValues(module);
    for (const attributes::SavedEntry &entry : entries)
      narrowest = std::min(narrowest, entry.bits);
    for (const attributes::SavedEntry &entry : entries)
      addValue(entry);
    addStages();
    for (const attributes::RoutingEntry &entry : attributes::getRoutings(module))
      addRouting(entry);
    if (std::optional<attributes::ProductFlops> flops = attributes::getProductFlops(module))
      saved.flops = {flops->forward, flops->backward, flops->repeated};
    return std::move(saved);
  }

private:
  void findParts() {
    if (std::optional<int64_t> blocks = attributes::blocks.get(module))
      saved.blocks = *blocks;
    auto micro = module.lookupSymbol<func::FuncOp>("micro");
    for (Operation &op : micro.getOps())
      if (std::optional<int64_t> place = attributes::partPlace.get(&op))
        partOf[nn::getAt(&op).getBlock()] = *place;
  }

  /// Once for each part whose backward uses the value. Into a block of the same part a recomputed segment repeats it instead.
  void addValue(const attributes::SavedEntry &entry) {
    int64_t home = partOf[entry.home];
    std::map<int64_t, int64_t> first; // block of each part
    for (int64_t block : entry.uses)
      first.try_emplace(partOf[block], block);
    for (int64_t block : entry.crossings)
      if (int64_t part = partOf[block]; part != home)
        if (auto [known, isNew] = first.try_emplace(part, block); !isNew)
          known->second = std::min(known->second, block);
    SavedActivations::Value value;
    value.operation = entry.op.str();
    value.path = entry.path.str();
    value.as = entry.as == "mask" ? As::Mask : entry.as == "statistic" ? As::Statistic : As::Tensor;
    value.elements = entry.elements;
    int64_t wide = entry.bits > narrowest ? 4 : 2;
    value.bytes = value.elements * (value.as == As::Tensor ? wide : value.as == As::Mask ? 1 : 0);
    if (!first.count(home))
      sentBytes[home] += first.empty() ? 0 : value.bytes;
    for (auto [part, block] : first) {
      value.part = part;
      value.block = block;
      saved.values.push_back(value);
    }
  }

  void addRouting(const attributes::RoutingEntry &entry) {
    auto part = [](int64_t whole, double share) { return std::llround(static_cast<double>(whole) * share); };
    SavedActivations::Routing routing;
    routing.path = entry.path, routing.way = entry.way;
    routing.experts = entry.experts, routing.ranks = entry.ranks, routing.choices = entry.choices;
    routing.worstRows = entry.rows, routing.balancedRows = part(entry.rows, entry.filled);
    routing.worstBytes = entry.kept, routing.balancedBytes = part(entry.kept, entry.filled);
    routing.rounds = entry.rounds, routing.bufferRows = entry.rows / entry.rounds, routing.bufferBytes = entry.buffered;
    routing.dispatchBytes = entry.sent, routing.elsewhereBytes = part(entry.sent, entry.elsewhere);
    saved.routings.push_back(std::move(routing));
  }

  void addStages() {
    auto programs = module.getOps<pipe::ProgramOp>();
    if (programs.empty())
      return;
    pipe::ProgramOp program = *programs.begin();
    auto stageOfPlace = program.getStageOfPlace();
    saved.stages.resize(static_cast<size_t>(program.getStages()));
    struct Bytes {
      int64_t kept = 0, sent = 0;
    };
    std::map<std::string, Bytes> bytesOf; // of a part, by the name of its forward
    for (auto [part, stage] : llvm::enumerate(stageOfPlace)) {
      saved.stages[static_cast<size_t>(stage)].parts.push_back(static_cast<int64_t>(part));
      Bytes &bytes = bytesOf[std::to_string(part)];
      bytes.sent = sentBytes[static_cast<int64_t>(part)];
      for (const SavedActivations::Value &value : saved.values)
        bytes.kept += value.part == static_cast<int64_t>(part) ? value.bytes : 0;
    }
    for (pipe::OrderOp order : module.getOps<pipe::OrderOp>()) {
      SavedActivations::Stage &stage = saved.stages[static_cast<size_t>(order.getStage())];
      int64_t micros = 0;
      Bytes bytes;
      for (const pipe::TaskName &task : order.getTaskNames()) {
        StringRef name = task.fragment;
        int64_t sign = name.starts_with("F") ? 1 : name.starts_with("B") ? -1 : 0;
        micros += sign;
        Bytes part = bytesOf[name.drop_front().str()];
        bytes.kept += sign * part.kept, bytes.sent += sign * part.sent;
        stage.mostMicros = std::max(stage.mostMicros, micros);
        stage.mostBytes = std::max(stage.mostBytes, bytes.kept);
        stage.mostSentBytes = std::max(stage.mostSentBytes, bytes.sent);
      }
    }
  }

  ModuleOp module;
  std::map<int64_t, int64_t> partOf;    ///< by block
  std::map<int64_t, int64_t> sentBytes; ///< by part: bytes of its results that another part keeps
  int64_t narrowest = 64;
  SavedActivations saved;
};

} // namespace

SavedActivations readSaved(ModuleOp module) { return Reader(module).run(); }

} // namespace npar::compiler
