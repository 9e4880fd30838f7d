// Reads rank programs back into the compiled program's tables, one entry per op.
#include "compiler/dialects/rank/Rank.h"
#include "compiler/emit/CheckpointTable.h"
#include "compiler/emit/Emit.h"
#include "compiler/emit/ProgramTables.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace npar {
namespace {

int64_t number(DictionaryAttr does, StringRef name) {
  auto attribute = does.getAs<IntegerAttr>(name);
  return attribute ? attribute.getInt() : 0;
}

std::string text(DictionaryAttr does, StringRef name) {
  auto attribute = does.getAs<StringAttr>(name);
  return attribute ? attribute.str() : "";
}

std::vector<int64_t> numbers(DictionaryAttr does, StringRef name) {
  auto attribute = does.getAs<DenseI64ArrayAttr>(name);
  return attribute ? attribute.asArrayRef().vec() : std::vector<int64_t>();
}

std::optional<program::CollectiveKind> collectiveKind(StringRef word) {
  return llvm::StringSwitch<std::optional<program::CollectiveKind>>(word)
      .Case("all_reduce", program::CollectiveKind::AllReduce)
      .Case("all_gather", program::CollectiveKind::AllGather)
      .Case("reduce_scatter", program::CollectiveKind::ReduceScatter)
      .Case("all_to_all", program::CollectiveKind::AllToAll)
      .Case("permute", program::CollectiveKind::Permute)
      .Default(std::nullopt);
}

std::optional<program::ReduceOp> reduceOp(StringRef word) {
  return llvm::StringSwitch<std::optional<program::ReduceOp>>(word)
      .Case("sum", program::ReduceOp::Sum)
      .Case("max", program::ReduceOp::Max)
      .Case("rounded_sum", program::ReduceOp::RoundedSum)
      .Default(std::nullopt);
}

class Builder {
public:
  explicit Builder(ModuleOp module)
      : module(module), symbols(module), mesh(dist::meshOf(module)), result(std::make_unique<program::ProgramT>()) {}

  FailureOr<std::unique_ptr<program::ProgramT>> run() {
    fillProgram(module, *result);
    if (failed(fillCheckpointRules(module, *result)))
      return failure();
    for (auto [index, variable] : llvm::enumerate(result->variables))
      variables[variable->name] = static_cast<uint32_t>(index);
    for (rank::ProgramOp source : module.getOps<rank::ProgramOp>())
      if (failed(addClass(source)))
        return failure();
    if (!unknown.empty())
      return module.emitError("internal error: the rank program has an unknown ") << unknown, failure();
    if (result->classes.empty())
      return module.emitError("internal error: holds no rank program to emit"), failure();
    result->stages = static_cast<uint32_t>(result->classes.size());
    return std::move(result);
  }

private:
  ModuleOp module;
  SymbolTable symbols;
  dist::MeshAttr mesh;
  std::unique_ptr<program::ProgramT> result;
  std::string unknown; ///< a word or type that no program holds
  llvm::StringMap<uint32_t> variables;
  DenseMap<Attribute, uint32_t> payloads; // kernel symbol or `does`
  DenseMap<std::pair<Attribute, Attribute>, SmallVector<std::pair<LocationAttr, uint32_t>, 1>> labels;

  LogicalResult addClass(rank::ProgramOp source) {
    result->classes.push_back(std::make_unique<program::RankClassT>());
    program::RankClassT &target = *result->classes.back();
    target.name = source.getSymName().str();
    target.stage = static_cast<uint32_t>(source.getStage());
    target.arena_bytes = source.getArena();
    for (NamedAttribute fixed : source.getFixed()) {
      int64_t axis = mesh.indexOf(fixed.getName());
      if (axis < 0)
        return source.emitError("internal error: fixes mesh axis '") << fixed.getName().getValue() << "', which the mesh does not have";
      target.fixed.push_back(std::make_unique<program::CoordinateT>());
      target.fixed.back()->axis = static_cast<uint32_t>(axis);
      target.fixed.back()->value = static_cast<uint32_t>(cast<IntegerAttr>(fixed.getValue()).getInt());
    }
    target.parameter_bytes = number(source.getMemory(), "parameters");
    target.gradient_bytes = number(source.getMemory(), "gradients");
    target.optimizer_bytes = number(source.getMemory(), "optimizer");
    target.activation_bytes = number(source.getMemory(), "activations");
    target.workspace_bytes = number(source.getMemory(), "workspace");
    llvm::StringMap<uint32_t> regions, fragments;
    for (Operation &op : source.getBody().front()) {
      if (auto region = dyn_cast<rank::RegionOp>(op)) {
        regions[region.getName()] = static_cast<uint32_t>(target.regions.size());
        target.regions.push_back(std::make_unique<program::RegionT>());
        program::RegionT &entry = *target.regions.back();
        entry.name = region.getName().str();
        entry.bytes = region.getBytes();
        entry.slots = static_cast<uint32_t>(region.getSlots());
        entry.offset = region.getOffset();
      } else if (auto variable = dyn_cast<rank::VariableOp>(op)) {
        auto declared = symbols.lookup<nn::VariableOp>(variable.getVariable());
        if (!declared)
          return variable.emitError("internal error: keeps unknown variable '") << variable.getVariable() << "'";
        target.pieces.push_back(pieceOf(declared));
        target.pieces.back()->variable = variables.lookup(variable.getVariable());
        target.pieces.back()->offset = variable.getOffset();
        target.pieces.back()->owner = variable.getOwner();
      } else if (auto input = dyn_cast<rank::InputOp>(op)) {
        target.inputs.push_back(inputOf(cast<RankedTensorType>(input.getType()), input));
        program::InputT &entry = *target.inputs.back();
        entry.input = findInput(*result, input.getName());
        entry.region = regions.lookup("input");
        entry.offset = input.getOffset();
        fillSamples(entry, *result);
      } else if (auto output = dyn_cast<rank::OutputOp>(op)) {
        target.outputs.push_back(std::make_unique<program::OutputT>());
        target.outputs.back()->name = output.getName().str();
        target.outputs.back()->offset = output.getOffset();
      } else if (auto fragment = dyn_cast<rank::FragmentOp>(op)) {
        fragments[fragment.getName()] = static_cast<uint32_t>(target.fragments.size());
        target.fragments.push_back(std::make_unique<program::FragmentT>());
        if (failed(addFragment(fragment, *target.fragments.back(), regions)))
          return failure();
      } else if (auto task = dyn_cast<rank::TaskOp>(op)) {
        target.tasks.emplace_back(fragments.lookup(task.getFragment()), static_cast<uint32_t>(task.getMicro()),
                                  static_cast<uint32_t>(target.bases.size()), 0, task.getBegin().convertToDouble(),
                                  task.getEnd().convertToDouble());
        target.bases.insert(target.bases.end(), task.getBases().begin(), task.getBases().end());
      } else if (auto wait = dyn_cast<rank::WaitOp>(op)) {
        target.task_dependencies.emplace_back(static_cast<uint32_t>(wait.getTask()), static_cast<uint32_t>(wait.getStep()),
                                              static_cast<uint32_t>(wait.getOnTask()), static_cast<uint32_t>(wait.getOnStep()));
      } else if (auto communicate = dyn_cast<rank::CommunicateOp>(op)) {
        ArrayRef<int32_t> order = communicate.getOrder();
        for (size_t i = 0; i + 1 < order.size(); i += 2)
          target.communication_order.emplace_back(order[i], order[i + 1]);
      }
    }
    return success();
  }

  LogicalResult addFragment(rank::FragmentOp source, program::FragmentT &target, const llvm::StringMap<uint32_t> &regions) {
    target.name = source.getName().str();
    target.phase = static_cast<program::Phase>(source.getPhase());
    target.chunk = static_cast<uint32_t>(source.getChunk());
    for (rank::StepOp step : source.getBody().getOps<rank::StepOp>()) {
      FailureOr<uint32_t> payload = payloadOf(step);
      if (failed(payload))
        return failure();
      // The numbers of operands fit: rank.step verifies it.
      target.steps.emplace_back(static_cast<program::StepKind>(step.getKind()), step.getFree(),
                                static_cast<uint16_t>(step.getInputs().size()), static_cast<uint16_t>(step.getOutputs().size()), 0,
                                static_cast<uint32_t>(target.operands.size()), *payload, static_cast<uint32_t>(target.dependencies.size()),
                                static_cast<uint32_t>(step.getAfter().size()), labelOf(step), step.getFlops().convertToDouble(),
                                step.getBegin().convertToDouble(), step.getEnd().convertToDouble());
      for (ArrayAttr places : {step.getInputs(), step.getOutputs()})
        for (rank::PlaceAttr place : places.getAsRange<rank::PlaceAttr>())
          target.operands.emplace_back(regions.lookup(place.getRegion()), 0, place.getOffset(), place.getBytes());
      target.dependencies.insert(target.dependencies.end(), step.getAfter().begin(), step.getAfter().end());
    }
    return success();
  }

  program::ElementType element(DictionaryAttr does, StringRef name = "type") {
    auto type = does.getAs<TypeAttr>(name);
    if (std::optional<program::ElementType> known = type ? elementTypeOf(type.getValue()) : std::nullopt)
      return *known;
    unknown = "element type";
    return program::ElementType::F32;
  }

  uint32_t labelOf(rank::StepOp step) { return addLabel(step.getLabelAttr(), step.getPathAttr(), step.getLoc()); }

  uint32_t addLabel(StringAttr text, StringAttr path, Location location) {
    auto &known = labels[{text, path}];
    for (auto &[other, index] : known)
      if (other == location)
        return index;
    result->labels.push_back(std::make_unique<program::LabelT>());
    result->labels.back()->text = text.str();
    result->labels.back()->path = path.str();
    result->labels.back()->source = sourceOf(location);
    known.emplace_back(location, static_cast<uint32_t>(result->labels.size()) - 1);
    return known.back().second;
  }

  FailureOr<uint32_t> payloadOf(rank::StepOp step) {
    DictionaryAttr does = step.getDoes();
    switch (step.getKind()) {
    case rank::StepKind::Zero:
    case rank::StepKind::Copy:
      return uint32_t(0);
    case rank::StepKind::Kernel:
      return kernel(step);
    case rank::StepKind::Matmul:
      return once(does, result->matmuls, [&](program::MatmulT &entry) { fillMatmul(does, entry); });
    case rank::StepKind::Collective:
      return collective(does);
    case rank::StepKind::Send:
    case rank::StepKind::Receive:
      return once(does, result->transfers, [&](program::TransferT &entry) {
        entry.axis = static_cast<uint32_t>(mesh.indexOf(StringAttr::get(module.getContext(), text(does, "axis"))));
        entry.peer = static_cast<uint32_t>(number(does, "peer"));
        entry.event = static_cast<uint32_t>(number(does, "event"));
        entry.count = static_cast<uint64_t>(number(does, "count"));
        entry.type = element(does);
      });
    }
    return failure();
  }

  /// The parts of a bucket one behind the other.
  uint32_t collective(DictionaryAttr does) {
    bool isNew = !payloads.count(does);
    uint32_t first = once(does, result->collectives, [&](program::CollectiveT &entry) { fillCollective(does, entry); });
    if (auto more = does.getAs<ArrayAttr>("more"); more && isNew)
      for (auto part : more.getAsRange<DictionaryAttr>()) {
        result->collectives.push_back(std::make_unique<program::CollectiveT>());
        fillCollective(part, *result->collectives.back());
      }
    return first;
  }

  template <typename Table, typename Fill> uint32_t once(Attribute key, std::vector<std::unique_ptr<Table>> &table, Fill fill) {
    auto [entry, isNew] = payloads.try_emplace(key, static_cast<uint32_t>(table.size()));
    if (isNew) {
      table.push_back(std::make_unique<Table>());
      fill(*table.back());
    }
    return entry->second;
  }

  FailureOr<uint32_t> kernel(rank::StepOp step) {
    auto symbol = step.getDoes().getAs<FlatSymbolRefAttr>("kernel");
    auto declared = symbol ? symbols.lookup<rank::KernelOp>(symbol.getValue()) : rank::KernelOp();
    if (!declared)
      return step.emitError("internal error: runs an unknown kernel"), failure();
    return once(symbol, result->kernels, [&](program::KernelT &entry) {
      entry.symbol = symbol.getValue().str();
      entry.extent = static_cast<int64_t>(declared.getExtent());
      entry.flops = declared.getFlops().convertToDouble();
    });
  }

  void fillMatmul(DictionaryAttr does, program::MatmulT &entry) {
    entry.type = element(does);
    entry.m = number(does, "m");
    entry.n = number(does, "n");
    entry.k = number(does, "k");
    entry.result = element(does, does.contains("result") ? "result" : "type");
    entry.batch = numbers(does, "batch");
    auto strides = [&](StringRef name, std::vector<int64_t> &batch, int64_t &row, int64_t &column) {
      std::vector<int64_t> all = numbers(does, name);
      if (all.size() != entry.batch.size() + 2)
        return;
      batch.assign(all.begin(), all.end() - 2);
      row = all[all.size() - 2];
      column = all.back();
    };
    int64_t unit = 1;
    strides("a", entry.a_batch, entry.a_row, entry.a_column);
    strides("b", entry.b_batch, entry.b_row, entry.b_column);
    strides("c", entry.c_batch, entry.c_row, unit);
    entry.accumulate = does.contains("accumulate");
    entry.workspace = static_cast<uint64_t>(number(does, "workspace"));
  }

  void fillCollective(DictionaryAttr does, program::CollectiveT &entry) {
    std::optional<program::CollectiveKind> kind = collectiveKind(text(does, "kind"));
    std::optional<program::ReduceOp> reduce = reduceOp(text(does, "op"));
    if (!kind || !reduce)
      unknown = "collective";
    entry.kind = kind.value_or(program::CollectiveKind::AllReduce);
    entry.op = reduce.value_or(program::ReduceOp::Sum);
    entry.type = element(does);
    if (auto axes = does.getAs<ArrayAttr>("axes"))
      entry.axes = axesOf(axes, mesh);
    entry.event = static_cast<uint32_t>(number(does, "event"));
    entry.count = static_cast<uint64_t>(number(does, "count"));
    std::vector<int64_t> geometry = numbers(does, "geometry");
    if (geometry.size() >= 3)
      entry.outer = geometry.front(), entry.split = geometry[1], entry.inner = geometry.back();
    if (geometry.size() == 5)
      entry.middle = geometry[2], entry.concat = geometry[3];
    entry.concat_first = does.contains("concat_first");
    entry.shift = static_cast<uint32_t>(number(does, "shift"));
    entry.whole = static_cast<uint64_t>(number(does, "whole"));
    entry.cause = text(does, "cause");
    entry.from = text(does, "from");
    entry.to = text(does, "to");
    if (auto rules = does.getAs<ArrayAttr>("rules"))
      for (NameLoc rule : rules.getAsRange<NameLoc>())
        entry.rules.push_back(addLabel(rule.getName(), StringAttr::get(module.getContext()), rule.getChildLoc()));
  }
};

} // namespace

FailureOr<std::unique_ptr<program::ProgramT>> buildProgram(ModuleOp module) { return Builder(module).run(); }

} // namespace npar
