// Writes each entry of a planned program as an op of the rank dialect; compiler/emit/BuildProgram.cpp is the way back.
#include "compiler/passes/export/WriteRank.h"

#include "compiler/dialects/rank/Rank.h"
#include "compiler/emit/ProgramTables.h"
#include "engine/program/Steps.h"

using namespace mlir;

namespace npar::memory {
namespace {

class Writer {
public:
  Writer(const program::ProgramT &program, const llvm::StringMap<Type> &inputTypes, ModuleOp module)
      : program(program), inputTypes(inputTypes), module(module), b(OpBuilder::atBlockEnd(module.getBody())), unknown(b.getUnknownLoc()) {}

  void run() {
    for (const auto &rankClass : program.classes)
      writeClass(*rankClass);
  }

private:
  const program::ProgramT &program;
  const llvm::StringMap<Type> &inputTypes;
  ModuleOp module;
  OpBuilder b;
  Location unknown;

  NamedAttribute named(StringRef name, Attribute value) { return b.getNamedAttr(name, value); }
  NamedAttribute number(StringRef name, int64_t value) { return named(name, b.getI64IntegerAttr(value)); }
  Location locationOf(const program::LabelT &label) {
    return label.source ? Location(FileLineColLoc::get(b.getContext(), label.source->file, label.source->line, label.source->column))
                        : unknown;
  }
  std::string axisName(uint32_t axis) { return program.mesh[axis]->name; }

  void writeClass(const program::RankClassT &source) {
    SmallVector<NamedAttribute> fixed;
    for (const auto &coordinate : source.fixed)
      fixed.push_back(number(axisName(coordinate->axis), coordinate->value));
    SmallVector<NamedAttribute> memory = {number("parameters", source.parameter_bytes), number("gradients", source.gradient_bytes),
                                          number("optimizer", source.optimizer_bytes), number("activations", source.activation_bytes),
                                          number("workspace", source.workspace_bytes)};
    b.setInsertionPointToEnd(module.getBody());
    auto target = rank::ProgramOp::create(b, unknown, source.name, source.stage, source.arena_bytes, b.getDictionaryAttr(fixed),
                                          b.getDictionaryAttr(memory));
    b.setInsertionPointToStart(&target.getBody().emplaceBlock());
    for (const auto &region : source.regions)
      rank::RegionOp::create(b, unknown, region->name, region->bytes, region->slots, region->offset);
    for (const auto &piece : source.pieces)
      rank::VariableOp::create(b, unknown, program.variables[piece->variable]->name, piece->offset, piece->bytes, piece->owner);
    for (const auto &input : source.inputs) {
      const std::string &name = program.inputs[input->input]->name;
      rank::InputOp::create(b, unknown, name, input->offset, inputTypes.lookup(name));
    }
    for (const auto &output : source.outputs)
      rank::OutputOp::create(b, unknown, output->name, output->offset);
    for (const auto &fragment : source.fragments)
      writeFragment(source, *fragment);
    for (const program::Task &task : source.tasks)
      rank::TaskOp::create(
          b, unknown, source.fragments[task.fragment()]->name, task.micro(),
          ArrayRef<int64_t>(reinterpret_cast<const int64_t *>(source.bases.data()) + task.first_base(), source.regions.size()),
          APFloat(task.begin()), APFloat(task.end()));
    for (const program::TaskDependency &edge : source.task_dependencies)
      rank::WaitOp::create(b, unknown, edge.task(), edge.step(), edge.on_task(), edge.on_step());
    SmallVector<int32_t> order;
    for (const program::CommunicationRef &reference : source.communication_order)
      order.append({static_cast<int32_t>(reference.task()), static_cast<int32_t>(reference.step())});
    rank::CommunicateOp::create(b, unknown, order);
  }

  void writeFragment(const program::RankClassT &owner, const program::FragmentT &source) {
    auto target = rank::FragmentOp::create(b, unknown, source.name, static_cast<rank::Phase>(source.phase), source.chunk);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&target.getBody().emplaceBlock());
    for (const program::Step &step : source.steps) {
      SmallVector<Attribute> inputs, outputs;
      for (uint32_t i = 0; i < uint32_t(step.inputs()) + step.outputs(); ++i) {
        const program::Operand &operand = source.operands[step.first_operand() + i];
        (i < step.inputs() ? inputs : outputs)
            .push_back(rank::PlaceAttr::get(b.getContext(), owner.regions[operand.region()]->name, operand.offset(), operand.bytes()));
      }
      SmallVector<int32_t> after;
      for (uint32_t i = 0; i < step.dependency_count(); ++i)
        after.push_back(static_cast<int32_t>(source.dependencies[step.first_dependency() + i]));
      const program::LabelT &label = *program.labels[step.label()];
      rank::StepOp::create(b, locationOf(label), static_cast<rank::StepKind>(step.kind()), label.text, b.getArrayAttr(inputs),
                           b.getArrayAttr(outputs), after, payload(step), label.path, APFloat(step.flops()), APFloat(step.begin()),
                           APFloat(step.end()), step.free() != 0);
    }
  }

  /// [outer, split, inner]; of an all_to_all [outer, split, middle, concat, inner].
  static SmallVector<int64_t> geometryOf(const program::CollectiveT &collective) {
    if (collective.kind == program::CollectiveKind::AllToAll)
      return {collective.outer, collective.split, collective.middle, collective.concat, collective.inner};
    return {collective.outer, collective.split, collective.inner};
  }

  DictionaryAttr payload(const program::Step &step) {
    SmallVector<NamedAttribute> does;
    auto type = [&](program::ElementType element) { return named("type", TypeAttr::get(typeOf(element, b.getContext()))); };
    switch (step.kind()) {
    case program::StepKind::Kernel:
      does.push_back(named("kernel", FlatSymbolRefAttr::get(b.getContext(), program.kernels[step.payload()]->symbol)));
      break;
    case program::StepKind::Matmul: {
      const program::MatmulT &matmul = *program.matmuls[step.payload()];
      auto strides = [&](StringRef name, const std::vector<int64_t> &batch, int64_t row, int64_t column) {
        SmallVector<int64_t> all(batch.begin(), batch.end());
        all.append({row, column});
        return named(name, b.getDenseI64ArrayAttr(all));
      };
      does = {type(matmul.type),
              number("m", matmul.m),
              number("n", matmul.n),
              number("k", matmul.k),
              named("batch", b.getDenseI64ArrayAttr(matmul.batch)),
              strides("a", matmul.a_batch, matmul.a_row, matmul.a_column),
              strides("b", matmul.b_batch, matmul.b_row, matmul.b_column),
              strides("c", matmul.c_batch, matmul.c_row, 1)};
      if (matmul.result != matmul.type)
        does.push_back(named("result", TypeAttr::get(typeOf(matmul.result, b.getContext()))));
      if (matmul.accumulate)
        does.push_back(named("accumulate", b.getUnitAttr()));
      if (matmul.workspace)
        does.push_back(number("workspace", static_cast<int64_t>(matmul.workspace)));
      break;
    }
    case program::StepKind::Collective: {
      does = collective(*program.collectives[step.payload()]);
      SmallVector<Attribute> more;
      for (uint32_t part = 1; part < program::partsOf(step); ++part)
        more.push_back(b.getDictionaryAttr(collective(*program.collectives[step.payload() + part])));
      if (!more.empty())
        does.push_back(named("more", b.getArrayAttr(more)));
      break;
    }
    case program::StepKind::Send:
    case program::StepKind::Receive: {
      const program::TransferT &transfer = *program.transfers[step.payload()];
      does = {named("axis", b.getStringAttr(axisName(transfer.axis))), number("peer", transfer.peer), number("event", transfer.event),
              number("count", static_cast<int64_t>(transfer.count)), type(transfer.type)};
      break;
    }
    case program::StepKind::Zero:
    case program::StepKind::Copy:
      break;
    }
    return b.getDictionaryAttr(does);
  }

  /// One part of a bucket.
  SmallVector<NamedAttribute> collective(const program::CollectiveT &collective) {
    static const char *names[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute"};
    static const char *operators[] = {"sum", "max", "rounded_sum"};
    SmallVector<Attribute> axes;
    for (uint32_t axis : collective.axes)
      axes.push_back(b.getStringAttr(axisName(axis)));
    SmallVector<NamedAttribute> does = {named("kind", b.getStringAttr(names[static_cast<int>(collective.kind)])),
                                        named("op", b.getStringAttr(operators[static_cast<int>(collective.op)])),
                                        named("axes", b.getArrayAttr(axes)),
                                        number("event", collective.event),
                                        number("count", static_cast<int64_t>(collective.count)),
                                        named("type", TypeAttr::get(typeOf(collective.type, b.getContext()))),
                                        named("geometry", b.getDenseI64ArrayAttr(geometryOf(collective))),
                                        named("cause", b.getStringAttr(collective.cause)),
                                        named("from", b.getStringAttr(collective.from)),
                                        named("to", b.getStringAttr(collective.to))};
    SmallVector<Attribute> rules;
    for (uint32_t rule : collective.rules)
      rules.push_back(NameLoc::get(b.getStringAttr(program.labels[rule]->text), locationOf(*program.labels[rule])));
    if (!rules.empty())
      does.push_back(named("rules", b.getArrayAttr(rules)));
    if (collective.concat_first)
      does.push_back(named("concat_first", b.getUnitAttr()));
    if (collective.shift)
      does.push_back(number("shift", collective.shift));
    if (collective.whole)
      does.push_back(number("whole", static_cast<int64_t>(collective.whole)));
    return does;
  }
};

} // namespace

void writeRank(const program::ProgramT &program, const llvm::StringMap<Type> &inputTypes, ModuleOp module) {
  Writer(program, inputTypes, module).run();
}

} // namespace npar::memory
