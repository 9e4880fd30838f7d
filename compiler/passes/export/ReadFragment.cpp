// Reads the ops of one fragment as actions over values.
#include "compiler/Coded.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/dist/Cause.h"
#include "compiler/dialects/dist/ModuleMachine.h"
#include "compiler/passes/export/CutPieces.h"
#include "compiler/passes/export/LayoutText.h"
#include "compiler/passes/export/ProductEntry.h"
#include "compiler/passes/export/ProgramTables.h"
#include "compiler/passes/export/ReadPipe.h"
#include "compiler/passes/export/StepTimes.h"
#include "compiler/passes/schedule/Stages.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace npar::compiler {
namespace {

class FragmentReader {
public:
  FragmentReader(pipe::FragmentOp fragment, uint32_t chunk, Tables &tables, ClassReader &reader)
      : fragment(fragment), chunk(chunk), tables(tables), reader(reader) {}

  LogicalResult run() {
    model.name = fragment.getSymName().str();
    for (const cost::Machine &machine : reader.machines)
      model.secondsPerByte = std::max(model.secondsPerByte, cost::stepDuration(machine, movedBytes(1 << 20)).seconds / (1 << 20));
    model.phase = fragment.getPhase();
    model.chunk = chunk;
    for (Operation &op : fragment.getBody().front()) {
      ++order;
      if (failed(read(&op)) || failed(checkOperands(&op)))
        return failure();
    }
    if (model.phase == program::Phase::Update) // all ranks have theirs at the same time; other tasks: TimeTasks.cpp
      for (memory::Action &action : model.actions)
        if (action.kind != program::StepKind::Send && action.kind != program::StepKind::Receive &&
            action.kind != program::StepKind::Collective)
          action.seconds *= std::max(1.0, tables.together * action.cores / tables.capacity);
    reader.model.fragments.push_back(std::move(model));
    return success();
  }

private:
  pipe::FragmentOp fragment;
  uint32_t chunk;
  Tables &tables;
  ClassReader &reader;
  memory::FragmentModel model;
  llvm::DenseMap<Value, uint32_t> values;
  uint32_t order = 0;
  std::optional<int64_t> openBucket; ///< bucket of the collective that was read last
  double bucketBytes = 0;            ///< bytes of its action so far

  memory::ValueModel &define(Value result) {
    values[result] = static_cast<uint32_t>(model.values.size());
    model.values.emplace_back();
    model.values.back().bytes = storageBytes(result.getType());
    return model.values.back();
  }

  memory::Action &act(program::StepKind kind, StringRef name, Operation *op, ValueRange inputs, ValueRange outputs) {
    for (Value output : outputs)
      define(output);
    memory::Action &action = model.actions.emplace_back();
    action.kind = kind;
    action.label = tables.addLabel(name, op);
    action.order = order;
    for (Value input : inputs)
      action.inputs.push_back(values.lookup(input));
    for (Value output : outputs)
      action.outputs.push_back(values.lookup(output));
    return action;
  }

  /// The step that the op became, or has joined.
  LogicalResult checkOperands(Operation *op) const {
    constexpr size_t most = std::numeric_limits<uint16_t>::max(); // Step.inputs and Step.outputs of the compiled program
    if (model.actions.empty() || (model.actions.back().inputs.size() <= most && model.actions.back().outputs.size() <= most))
      return success();
    return op->emitOpError("has ") << model.actions.back().inputs.size() << " inputs and " << model.actions.back().outputs.size()
                                   << " outputs; a step of a compiled program has at most " << most << " of each";
  }

  LogicalResult read(Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](nn::ReadOp read) {
          uint32_t variable = variableIn(reader, tables, read.getVariable());
          memory::ValueModel &value = define(read.getResult());
          value.variable = variable;
          value.readAt = order;
          return success();
        })
        .Case([&](nn::WriteOp write) {
          model.writes.push_back({variableIn(reader, tables, write.getVariable()), values.lookup(write.getValue()),
                                  tables.addLabel(("write " + write.getVariable()).str(), op), order});
          return success();
        })
        .Case([&](nn::InputOp input) { return readInput(input); })
        .Case([&](nn::ResultOp result) { return readResult(result); })
        .Case([&](nn::RenameOp rename) {
          uint32_t from = values.lookup(rename.getX());
          define(rename.getResult()).alias = from;
          return success();
        })
        .Case([&](nn::ReshapeOp reshape) {
          uint32_t from = values.lookup(reshape.getX());
          define(reshape.getResult()).alias = from;
          return success();
        })
        .Case([&](rank::LaunchOp launch) { return readLaunch(launch); })
        .Case([&](rank::MatmulOp matmul) { return readMatmul(matmul); })
        .Case([&](rank::AttentionOp attention) {
          return readAttention(attention, /*gradient=*/false, /*continues=*/bool(attention.getBefore()), /*unfinished=*/!attention.ends());
        })
        .Case([&](rank::AttentionGradOp attention) {
          return readAttention(attention, /*gradient=*/true, /*continues=*/false, /*unfinished=*/attention.getPartly());
        })
        .Case([&](pipe::SendOp send) {
          model.values[values.lookup(send.getValue())].sent.push_back(static_cast<uint32_t>(send.getEvent()));
          memory::Action &action = act(program::StepKind::Send, "send", op, send.getValue(), {});
          return transfer(op, action, send.getValue().getType(), send.getTo(), send.getEvent());
        })
        .Case([&](pipe::RecvOp receive) {
          memory::Action &action = act(program::StepKind::Receive, "receive", op, {}, receive.getValue());
          model.values[values.lookup(receive.getValue())].event = static_cast<uint32_t>(receive.getEvent());
          return transfer(op, action, receive.getValue().getType(), receive.getFrom(), receive.getEvent());
        })
        .Case([&](pipe::StashOp stash) {
          model.values[values.lookup(stash.getValue())].stash = stash.getSlot().str();
          return success();
        })
        .Case([&](pipe::UnstashOp unstash) {
          define(unstash.getValue()).unstash = unstash.getSlot().str();
          return success();
        })
        .Case([&](dist::AllReduceOp reduce) { return failure(!collective(reduce, reduce.getOp())); })
        .Case([&](dist::AllGatherOp gather) {
          program::CollectiveT *entry = collective(gather);
          if (entry)
            cut(*entry, gather.getInput().getType(), gather.getResult().getType(), gather.getDim(), ranksAlong(gather.getAxes()));
          return failure(!entry);
        })
        .Case([&](dist::ReduceScatterOp scatter) {
          program::CollectiveT *entry = collective(scatter, scatter.getOp());
          if (entry)
            cut(*entry, scatter.getResult().getType(), scatter.getInput().getType(), scatter.getDim(), ranksAlong(scatter.getAxes()));
          return failure(!entry);
        })
        .Case([&](dist::AllToAllOp exchange) {
          program::CollectiveT *entry = collective(exchange);
          if (!entry)
            return failure();
          cutTwice(*entry, exchange);
          if (!exchange.getEnds().empty()) {
            cutPieces(*entry, exchange, ranksAlong(exchange.getAxes()));
            for (Value ends : exchange.getEnds())
              model.actions.back().inputs.push_back(values.lookup(ends));
          }
          return success();
        })
        .Case([&](dist::PermuteOp permute) {
          program::CollectiveT *entry = collective(permute);
          if (entry)
            entry->shift = static_cast<uint32_t>(permute.getShift());
          return failure(!entry);
        })
        .Default([&](Operation *other) -> LogicalResult {
          return other->emitOpError("cannot be a step of a rank program: run 'export-outline-kernels' first");
        });
  }

  LogicalResult readInput(nn::InputOp input) {
    auto type = cast<RankedTensorType>(input.getResult().getType());
    if (!elementTypeOf(type))
      return input.emitOpError("has an element type that no program holds");
    auto [entry, isNew] = reader.inputs.try_emplace(input.getName(), static_cast<uint32_t>(reader.model.inputs.size()));
    if (isNew) {
      reader.model.inputs.push_back({storageBytes(type), inputOf(type, input)});
      reader.model.inputs.back().input->input = findInput(tables.program, input.getName());
      fillSamples(*reader.model.inputs.back().input, tables.program);
    }
    define(input.getResult()).input = entry->second;
    return success();
  }

  /// A value computed by a step is written directly to the result's buffer; a value that already has another home is copied there.
  LogicalResult readResult(nn::ResultOp result) {
    auto type = cast<RankedTensorType>(result.getValue().getType());
    if (!elementTypeOf(type))
      return result.emitOpError("has an element type that no program holds");
    uint32_t index = static_cast<uint32_t>(reader.model.results.size()), value = values.lookup(result.getValue());
    reader.model.results.push_back({storageBytes(type), resultOf(type, result)});
    reader.model.results.back().result->result = addResult(tables.program, result.getName(), type);
    while (model.values[value].alias != memory::none)
      value = model.values[value].alias;
    memory::ValueModel &made = model.values[value];
    bool elsewhere = made.variable != memory::none || made.input != memory::none || made.event != memory::none ||
                     made.result != memory::none || !made.unstash.empty();
    if (!elsewhere) {
      made.result = index;
      return success();
    }
    memory::Action &copy = act(program::StepKind::Copy, ("copy " + result.getName()).str(), result, result.getValue(), {});
    copy.outputs.push_back(static_cast<uint32_t>(model.values.size()));
    setDuration(copy, reader.machines, movedBytes(storageBytes(type)));
    model.values.emplace_back();
    model.values.back().bytes = storageBytes(type);
    model.values.back().result = index;
    return success();
  }

  /// The kernel's number in the program.
  uint32_t kernelEntry(rank::KernelOp kernel) {
    auto [entry, isNew] = tables.kernels.try_emplace(kernel.getSymName(), static_cast<uint32_t>(tables.program.kernels.size()));
    if (isNew) {
      tables.program.kernels.push_back(std::make_unique<program::KernelT>());
      program::KernelT &target = *tables.program.kernels.back();
      target.symbol = kernel.getFunction().str();
      target.extent = static_cast<int64_t>(kernel.getExtent());
      target.flops = kernel.getFlops().convertToDouble();
      target.filled = kernel.getFilled().convertToDouble();
    }
    return entry->second;
  }

  LogicalResult readLaunch(rank::LaunchOp launch) {
    auto kernel = tables.symbols.lookup<rank::KernelOp>(launch.getKernel()); // there: the launch's verifier looked
    memory::Action &action = act(program::StepKind::Kernel, launch.getKernel(), launch, launch.getOperands(), launch.getOutputs());
    action.payload = kernelEntry(kernel);
    for (auto [result, operand] : kernel.getInplacePairs())
      action.inplace.emplace_back(static_cast<uint32_t>(result), static_cast<uint32_t>(operand));
    action.flops = kernel.getFlops().convertToDouble();
    setDuration(action, reader.machines, operationOf(kernel));
    return success();
  }

  LogicalResult readMatmul(rank::MatmulOp matmul) {
    auto type = cast<RankedTensorType>(matmul.getLhs().getType());
    std::optional<program::ElementType> element = elementTypeOf(type), result = elementTypeOf(matmul.getResult().getType());
    if (!element || !result)
      return matmul.emitOpError("has an element type that no program holds");
    // Libraries count in 32 bits, whatever their interfaces take.
    if (int64_t most = std::max({matmul.getM(), matmul.getN(), matmul.getK()}); most > std::numeric_limits<int32_t>::max())
      return matmul.emitOpError("is a product with a side of ")
             << dsl::Code::L3 << most << ", library products take at most " << std::numeric_limits<int32_t>::max()
             << ": use a smaller 'micro' or split an axis";
    std::unique_ptr<program::MatmulT> entry = productEntry(matmul, *element, *result);
    SmallVector<Value> inputs{matmul.getLhs(), matmul.getRhs()};
    llvm::append_range(inputs, matmul.getRanges());
    memory::Action &action = act(program::StepKind::Matmul, "matmul", matmul, inputs, matmul.getResult());
    action.payload = static_cast<uint32_t>(tables.program.matmuls.size());
    tables.program.matmuls.push_back(std::move(entry));
    uint64_t size = type.getElementTypeBitWidth() / 8;
    action.inputOffsets = {matmul.getAOffset() * size, matmul.getBOffset() * size};
    action.inputOffsets.resize(inputs.size());
    if (matmul.getAccumulator())
      action.accumulator = values.lookup(matmul.getAccumulator());
    action.flops = matmul.getFlops();
    setDuration(action, reader.machines, operationOf(matmul, *element));
    return success();
  }

  /// Reads the kernels and the data that change the scores of an attention.
  template <typename Op> LogicalResult readScores(Op attention, program::AttentionT &entry) {
    if (!attention.getKernels())
      return success();
    for (auto symbol : attention.getKernels()->template getAsRange<FlatSymbolRefAttr>()) {
      auto kernel = tables.symbols.lookup<rank::KernelOp>(symbol.getValue()); // there: both are outlined together
      if (entry.kernels.empty())
        entry.drops = llvm::range_size(kernel.getResultTypes()) > 1;
      entry.kernels.push_back(kernelEntry(kernel));
    }
    if (std::optional<uint64_t> back = attention.getBack())
      entry.back = static_cast<int64_t>(*back);
    if (std::optional<uint64_t> ahead = attention.getAhead())
      entry.ahead = static_cast<int64_t>(*ahead);
    // Strides of the batch loops, then head, query, key, keys, entries, and of which datum it is the slope.
    ValueRange data = ValueRange(attention->getOperands()).take_back(attention.getDataCount());
    ValueRange slopes = ValueRange(attention->getResults()).drop_front(entry.gradient ? 3 : attention->getNumResults());
    size_t index = 0;
    for (auto each : attention.getData() ? attention.getData()->template getAsRange<DenseI64ArrayAttr>()
                                         : ArrayAttr::get(attention.getContext(), {}).template getAsRange<DenseI64ArrayAttr>()) {
      ArrayRef<int64_t> all = each.asArrayRef(), rest = all.take_back(6);
      bool isSlope = index >= data.size();
      Value value = isSlope ? slopes[index - data.size()] : data[index];
      ++index;
      auto target = std::make_unique<program::AttentionDatumT>();
      std::optional<program::ElementType> element = elementTypeOf(cast<RankedTensorType>(value.getType()));
      if (!element)
        return attention.emitOpError("has an element type that no program holds");
      target->type = *element;
      target->batch.assign(all.begin(), all.end() - 6);
      target->head = rest[0], target->query = std::max<int64_t>(rest[1], 0), target->key = std::max<int64_t>(rest[2], 0);
      target->has_query = rest[1] >= 0, target->has_key = rest[2] >= 0, target->keys = rest[3], target->entries = rest[4];
      target->datum = isSlope ? static_cast<uint32_t>(rest[5]) : 0;
      (isSlope ? entry.slopes : entry.data).push_back(std::move(target));
    }
    return success();
  }

  template <typename Op> LogicalResult readAttention(Op attention, bool gradient, bool continues, bool unfinished) {
    auto type = cast<RankedTensorType>(attention.getQ().getType());
    std::optional<program::ElementType> element = elementTypeOf(type);
    if (!element)
      return attention.emitOpError("has an element type that no program holds");
    auto entry = std::make_unique<program::AttentionT>();
    entry->type = *element;
    entry->gradient = gradient;
    entry->causal = attention.getCausal();
    entry->scale = attention.getScale().convertToDouble();
    entry->batch = attention.getBatch().vec();
    entry->heads = attention.getHeads();
    entry->rows = attention.getRows();
    entry->keys = attention.getKeys();
    entry->features = attention.getFeatures();
    entry->values = attention.getValues();
    if (std::optional<ArrayAttr> pieces = attention.getPieces())
      for (auto axis : pieces->template getAsRange<StringAttr>())
        entry->axes.push_back(static_cast<uint32_t>(tables.mesh.indexOf(axis)));
    entry->zigzag = static_cast<uint32_t>(attention.getZigzag());
    entry->ring = attention.getStep().has_value();
    entry->step = static_cast<uint32_t>(attention.getStep().value_or(0));
    entry->other = attention.getOther();
    entry->continues = continues;
    entry->unfinished = unfinished;
    for (auto strides : attention.getStrides().template getAsRange<DenseI64ArrayAttr>()) {
      ArrayRef<int64_t> all = strides.asArrayRef();
      entry->strides.push_back(std::make_unique<program::AttentionStridesT>());
      program::AttentionStridesT &target = *entry->strides.back();
      target.batch.assign(all.begin(), all.end() - 2);
      target.head = all[all.size() - 2];
      target.row = all.back();
    }
    if (failed(readScores(attention, *entry)))
      return failure();
    StringRef name = attention->getName().stripDialect();
    memory::Action &action = act(program::StepKind::Attention, name, attention, attention->getOperands(), attention->getResults());
    action.payload = static_cast<uint32_t>(tables.program.attentions.size());
    tables.program.attentions.push_back(std::move(entry));
    for (auto [operand, offset] : llvm::zip(attention->getOperands(), attention.getOffsets()))
      action.inputOffsets.push_back(static_cast<uint64_t>(offset) * (getElementTypeOrSelf(operand.getType()).getIntOrFloatBitWidth() / 8));
    action.flops = attention.getFlops().convertToDouble();
    setDuration(action, reader.machines,
                {gradient ? cost::Work::AttentionGradient : cost::Work::Attention, *element, 0, action.flops, 0,
                 double(attention.getRows()), 0, 0});
    return success();
  }

  LogicalResult transfer(Operation *op, memory::Action &action, Type type, int64_t peer, int64_t event) {
    std::optional<program::ElementType> element = elementTypeOf(type);
    if (!element)
      return op->emitOpError("has an element type that no program holds");
    action.payload = static_cast<uint32_t>(tables.program.transfers.size());
    tables.program.transfers.push_back(std::make_unique<program::TransferT>());
    program::TransferT &entry = *tables.program.transfers.back();
    entry.axis = tables.pipelineAxis ? static_cast<uint32_t>(tables.mesh.indexOf(tables.pipelineAxis)) : 0;
    entry.peer = static_cast<uint32_t>(peer);
    entry.event = static_cast<uint32_t>(event);
    entry.type = *element;
    entry.count = static_cast<uint64_t>(cast<RankedTensorType>(type).getNumElements());
    action.seconds = cost::transferSeconds(tables.machine, static_cast<double>(storageBytes(type)), tables.pipelineLevel);
    return success();
  }

  /// Whether a library may add it up in its own order (RULES.md#N5): a sum of floats under `dist.library` that no other group of ranks
  /// makes as well, for another group may add in another order, and values that are to be the same on all ranks would part. The norm
  /// decides whether a step counts (RULES.md#N7), so it is never the library's.
  bool mayBeOfLibrary(dist::CollectiveOpInterface op, const program::CollectiveT &entry) const {
    bool adds = entry.kind == program::CollectiveKind::AllReduce || entry.kind == program::CollectiveKind::ReduceScatter;
    dist::LayoutAttr layout = dist::layoutOf(op->getResult(0));
    if (!adds || !layout || entry.op == program::ReduceOp::Max || !isa<FloatType>(getElementTypeOrSelf(op->getResult(0))) ||
        !attributes::librarySums.isOn(op->getParentOfType<ModuleOp>()) ||
        (entry.cause && entry.cause->kind == program::CauseKind::AddsOwned))
      return false;
    return llvm::all_of(tables.mesh.getNames(), [&](StringAttr axis) {
      return tables.mesh.sizeOf(axis) == 1 || axis == tables.pipelineAxis || llvm::is_contained(op.getAxes(), axis) ||
             layout.splitsOver(axis) || llvm::is_contained(layout.getPartialAxes(), axis);
    });
  }

  /// Adds a step and its entry, whose geometry is left to the caller; null after an error.
  program::CollectiveT *collective(dist::CollectiveOpInterface op, program::ReduceOp reduce = program::ReduceOp::Sum) {
    Value input = op->getOperand(0), result = op->getResult(0);
    program::CollectiveKind kind = op.getCollective();
    std::optional<program::ElementType> element = elementTypeOf(input.getType());
    if (!element)
      return op->emitOpError("has an element type that no program holds"), nullptr;
    auto entry = std::make_unique<program::CollectiveT>();
    entry->kind = kind;
    bool rounds = nn::isNarrow(input.getType()) && attributes::roundedSums.isOn(op->getParentOfType<ModuleOp>());
    entry->op = reduce == program::ReduceOp::Sum && rounds ? program::ReduceOp::RoundedSum : reduce;
    entry->type = *element;
    bool spans = false;
    for (StringAttr axis : op.getAxes().getAsRange<StringAttr>()) {
      if (tables.mesh.indexOf(axis) < 0)
        return op->emitOpError("works over mesh axis '") << axis.getValue() << "', which the mesh does not have", nullptr;
      entry->axes.push_back(static_cast<uint32_t>(tables.mesh.indexOf(axis)));
      spans |= axis == tables.pipelineAxis;
    }
    entry->event = spans ? spanningEvent() : tables.nextEvent++;
    entry->count = static_cast<uint64_t>(cast<RankedTensorType>(input.getType()).getNumElements());
    entry->outer = entry->inner = entry->split = 1;
    entry->cause = dist::causeOf(op.getCauseAttr());
    entry->library = mayBeOfLibrary(op, *entry);
    entry->from = layoutText(input.getType());
    entry->to = layoutText(result.getType());
    for (NameLoc rule : attributes::causingRules.get(op))
      entry->rules.push_back(tables.addRule(rule));
    uint32_t payload = static_cast<uint32_t>(tables.program.collectives.size());
    double bytes = static_cast<double>(std::max(storageBytes(input.getType()), storageBytes(result.getType())));
    if (auto exchange = dyn_cast<dist::AllToAllOp>(op.getOperation()))
      bytes *= exchange.getFilled().convertToDouble();
    std::optional<int64_t> bucket = attributes::bucket.get(op);
    bool joins = bucket && bucket == openBucket && !model.actions.empty() && model.actions.back().kind == program::StepKind::Collective;
    openBucket = bucket;
    if (joins)
      entry->event = tables.program.collectives.back()->event;
    tables.program.collectives.push_back(std::move(entry));
    if (!joins) {
      bucketBytes = 0;
      memory::Action &action = act(program::StepKind::Collective, op->getName().stripDialect(), op, input, result);
      action.payload = payload;
      action.free = bool(bucket);
    } else {
      define(result);
      model.actions.back().inputs.push_back(values.lookup(input));
      model.actions.back().outputs.push_back(values.lookup(result));
      model.actions.back().order = order;
      program::LabelT &label = *tables.program.labels[model.actions.back().label];
      label.text = (op->getName().stripDialect() + " of " + Twine(model.actions.back().inputs.size()) +
                    (kind == program::CollectiveKind::AllGather ? " parameters" : " gradients"))
                       .str();
      label.path.clear();
    }
    memory::Action &action = model.actions.back();
    uint32_t part = static_cast<uint32_t>(action.inputs.size()) - 1;
    if (kind == program::CollectiveKind::AllReduce)
      action.inplace.emplace_back(part, part);
    bucketBytes += bytes;
    action.seconds = 0;
    for (const cost::Machine &machine : reader.machines)
      action.seconds = std::max(action.seconds, cost::collectiveSeconds(machine, kind, bucketBytes,
                                                                        dist::spanOf(machine, tables.mesh, dist::stringsOf(op.getAxes()))));
    return tables.program.collectives.back().get();
  }

  int64_t ranksAlong(ArrayAttr axes) const { return tables.mesh.sizeOf(dist::stringsOf(axes)); }

  /// The k-th collective that joins stages is the same event on every stage; the verifier checks that they agree.
  uint32_t spanningEvent() {
    if (reader.spanning == tables.spanningEvents.size())
      tables.spanningEvents.push_back(tables.nextEvent++);
    return tables.spanningEvents[reader.spanning++];
  }
};

} // namespace

LogicalResult readFragment(pipe::FragmentOp fragment, uint32_t chunk, Tables &tables, ClassReader &reader) {
  return FragmentReader(fragment, chunk, tables, reader).run();
}

} // namespace npar::compiler
