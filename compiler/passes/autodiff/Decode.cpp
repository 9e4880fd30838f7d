// autodiff-decode: a program that generates, for some positions at a time: what attention looks back at is kept from step to step.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/attributes/TableAttributes.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/ops/Along.h"
#include "compiler/passes/autodiff/Autodiff.h"
#include "compiler/passes/autodiff/MixedPositions.h"
#include "engine/program/Kept.h"
#include "engine/program/Words.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace npar::compiler {

using namespace mlir;
using namespace nn;

#define GEN_PASS_DECL_AUTODIFFDECODE
#define GEN_PASS_DEF_AUTODIFFDECODE
#include "compiler/passes/autodiff/Passes.h.inc"

namespace {

class Decoding {
public:
  /// `tokens` has the axes of samples and of the sequence.
  Decoding(ModuleOp module, func::FuncOp micro, RankedTensorType tokens, int64_t positions)
      : module(module), micro(micro), batch(axesOf(tokens)[0]), seq(axesOf(tokens)[1]),
        step(StringAttr::get(module.getContext(), seq.getValue() + ".step")), samples(tokens.getDimSize(0)), length(tokens.getDimSize(1)),
        positions(std::min(positions, length)), builder(module.getContext()) {}

  /// Returns whether each op computes a position from that position, from parameters and, in attention, from earlier positions. Otherwise
  /// warns about the first op that may need more.
  bool isPossible() {
    for (auto rename : micro.getOps<RenameOp>())
      if (rename.getFromAttr() == seq)
        routed.insert_range(axesOfDispatch(rename));
    for (Operation &op : micro.getOps())
      if (const char *why = obstacle(&op)) {
        op.emitWarning("'") << op.getName().stripDialect() << "' " << why << " '" << seq.getValue()
                            << "': each generated token recomputes the whole sequence";
        return false;
      }
    return true;
  }

  void run() {
    SmallVector<Operation *> all;
    for (Operation &op : micro.front().without_terminator())
      all.push_back(&op);
    for (Operation *op : all)
      for (Value result : op->getResults())
        if (!isa<ReadOp>(op))
          result.setType(shortened(result.getType()));
    for (auto rename : micro.getOps<RenameOp>())
      if (rename.getFromAttr() == seq)
        rename.setFromAttr(step);
      else if (rename.getToAttr() == seq)
        rename.setToAttr(step);
    for (Operation *op : all) {
      builder.setInsertionPoint(op);
      if (auto index = dyn_cast<IndexOp>(op); index && hasAxis(index.getType(), step))
        replaceUses(index, [&](Operation *user) { return positionsFor(user); });
      else if (auto read = dyn_cast<ReadOp>(op); read && hasAxis(read.getType(), seq))
        lookUp(read);
      else if (auto attention = dyn_cast<AttentionOp>(op); attention && attention.getSeqAttr() == seq)
        keep(attention);
    }
    giveSamples();
    if (positions > 1)
      for (auto result : micro.getOps<ResultOp>())
        leaveLast(result);
    declarePositions();
    describeInputs();
    attributes::zigzag.remove(module);
  }

private:
  bool touches(Operation *op) const {
    auto has = [&](Type type) { return hasAxis(type, seq); };
    return llvm::any_of(op->getOperandTypes(), has) || llvm::any_of(op->getResultTypes(), has);
  }

  /// Returns whether an attribute is the sequence's name or a list with it.
  bool names(Attribute attribute) const {
    auto list = dyn_cast<ArrayAttr>(attribute);
    return attribute == seq || (list && llvm::is_contained(list, seq));
  }

  const char *obstacle(Operation *op) const {
    if (!touches(op))
      return nullptr;
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      bool isKept = attention.getSeqAttr() == seq && attention.getCausal() && !attention.getKeysAttr();
      return isKept || attention.getKeysAttr() ? nullptr : "mixes positions of";
    }
    if (auto rename = dyn_cast<RenameOp>(op); rename && (routed.contains(rename.getFromAttr()) || routed.contains(rename.getToAttr())))
      return nullptr;
    if (isa<IndexOp, InputOp, ReadOp, ResultOp>(op))
      return nullptr;
    for (Value result : op->getResults())
      if (llvm::any_of(op->getOperandTypes(), [&](Type type) { return hasAxis(type, seq); }) && !hasAxis(result.getType(), seq))
        return "mixes positions of";
    for (NamedAttribute attribute : op->getAttrs())
      if (names(attribute.getValue()))
        return "counts the places of";
    return nullptr;
  }

  /// The type with some positions for all, and with the rows of these.
  Type shortened(Type type) const {
    for (StringAttr axis : axesOf(type))
      if (axis == seq)
        type = exchanged(type, seq, step, positions);
      else if (routed.contains(axis))
        type = exchanged(type, axis, axis, sizeOf(type, axis) / length * positions);
    return type;
  }

  static Type exchanged(Type type, StringAttr from, StringAttr to, int64_t size) {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<StringAttr> names(axesOf(tensor));
    SmallVector<int64_t> sizes(tensor.getShape());
    int64_t dim = dimOf(tensor, from);
    names[dim] = to, sizes[dim] = size;
    return withAxes(tensor.getElementType(), names, sizes);
  }

  /// Each use reads for itself: so nothing goes from one stage of a pipeline to the next.
  Value positionsFor(Operation *user) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(user);
    auto read = ReadOp::create(builder, user->getLoc(), typeOfPositions(), npar::program::keptPositions);
    if (AtAttr at = getAt(user))
      setAt(read, at);
    return read;
  }

  template <typename Make> void replaceUses(Operation *op, Make make) {
    for (OpOperand &use : llvm::make_early_inc_range(op->getResult(0).getUses()))
      use.set(make(use.getOwner()));
    op->erase();
  }

  /// A parameter over the sequence is a table of its positions.
  void lookUp(ReadOp read) {
    builder.setInsertionPointAfter(read);
    Value at = positionsFor(read);
    read->moveBefore(at.getDefiningOp());
    auto rows = GatherOp::create(builder, read.getLoc(), shortened(read.getType()), read, at, seq);
    setAt(rows, getAt(read));
    read.getResult().replaceAllUsesExcept(rows, rows);
  }

  void keep(AttentionOp op) {
    std::string name = npar::program::keptPrefix + std::to_string(kept++) + ".";
    Value at = positionsFor(op);
    op.getKMutable().assign(append(op, op.getK(), at, name + "keys"));
    op.getVMutable().assign(append(op, op.getV(), at, name + "values"));
    op.getDataMutable().append(at);
    op.setSeqAttr(step);
    op.setKeysAttr(op.getKeyAttr());
    op.setKeyCount(length);
    op.removeRingAttr();
    op.setBlocked(true);
  }

  /// Appends the rows of the current positions to the cached rows of earlier ones.
  Value append(AttentionOp op, Value rows, Value at, StringRef name) {
    rows = withSamplesFirst(op, rows);
    Type type = exchanged(rows.getType(), step, op.getKeyAttr(), length);
    declare(op.getLoc(), name, type);
    auto before = ReadOp::create(builder, op.getLoc(), type, name);
    auto after = AppendOp::create(builder, op.getLoc(), type, before, rows, at, step, op.getKeyAttr());
    auto write = WriteOp::create(builder, op.getLoc(), name, after);
    for (Operation *made : {before.getOperation(), after.getOperation(), write.getOperation()})
      setAt(made, getAt(op));
    return after;
  }

  /// Computes a result only at the last position: what leads to nothing else is computed from the last position of its operand.
  void leaveLast(ResultOp result) {
    SmallVector<Operation *> chain = {result};
    OpOperand *from = onlyOperand(result);
    while (from && from->get().hasOneUse())
      if (OpOperand *before = onlyOperand(from->get().getDefiningOp()))
        chain.push_back(before->getOwner()), from = before;
      else
        break;
    if (!from)
      return;
    auto last = StringAttr::get(module.getContext(), seq.getValue() + ".last");
    builder.setInsertionPoint(chain.back());
    auto part =
        PartOp::create(builder, result.getLoc(), exchanged(from->get().getType(), step, last, 1), from->get(), step, last, positions - 1);
    if (AtAttr at = getAt(chain.back()))
      setAt(part, at);
    from->set(part);
    for (Operation *op : chain)
      for (Value value : op->getResults())
        if (hasAxis(value.getType(), step))
          value.setType(exchanged(value.getType(), step, last, 1));
  }

  /// The operand with the axis of the step's positions, if it is the only one and the op computes each position from that position.
  OpOperand *onlyOperand(Operation *op) const {
    OpOperand *found = nullptr;
    if (!op || isa<AttentionOp, AppendOp>(op))
      return found;
    for (OpOperand &operand : op->getOpOperands())
      if (hasAxis(operand.get().getType(), step)) {
        if (found)
          return nullptr;
        found = &operand;
      }
    return found;
  }

  /// The rows with the axis of samples as the first one, because each sample has positions of its own.
  Value withSamplesFirst(AttentionOp op, Value rows) {
    auto type = cast<RankedTensorType>(rows.getType());
    if (axesOf(type).front() == batch)
      return rows;
    auto reorder = ReorderOp::create(builder, op.getLoc(), ofSamples(withoutAxes(type, {batch})), rows);
    setAt(reorder, getAt(op));
    return reorder;
  }

  void declare(Location location, StringRef name, Type type) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(micro);
    auto variable = VariableOp::create(builder, location, name, type, VariableKind::State);
    variable.setSlot("kept");
  }
  Type typeOfPositions() { return withAxes(builder.getI32Type(), {batch, step}, {samples, positions}); }

  /// Declares the positions last, so that everything before is stored at the same offset for any number of positions.
  void declarePositions() { declare(module.getLoc(), npar::program::keptPositions, typeOfPositions()); }

  /// Gives values that are computed from positions the axis of samples, as the first one, because positions differ between samples.
  void giveSamples() {
    for (Operation &op : micro.front().without_terminator()) {
      if (llvm::none_of(op.getOperandTypes(), [&](Type type) { return hasAxis(type, batch); }))
        continue;
      for (Value result : op.getResults())
        if (!hasAxis(result.getType(), batch))
          result.setType(ofSamples(cast<RankedTensorType>(result.getType())));
    }
  }

  Type ofSamples(RankedTensorType type) const {
    SmallVector<StringAttr> names = {batch};
    SmallVector<int64_t> sizes = {samples};
    llvm::append_range(names, axesOf(type));
    llvm::append_range(sizes, type.getShape());
    return withAxes(type.getElementType(), names, sizes);
  }

  void describeInputs() {
    std::optional<std::vector<attributes::InputEntry>> described = attributes::getInputs(module);
    if (!described)
      return;
    for (attributes::InputEntry &input : *described)
      if (input.type)
        input.type = shortened(input.type);
    attributes::setInputs(module, *described);
  }

  ModuleOp module;
  func::FuncOp micro;
  StringAttr batch, seq, step;
  AxisSet routed; ///< of positions, under other names than that of the sequence, and of their rows
  int64_t samples, length, positions, kept = 0;
  OpBuilder builder;
};

struct AutodiffDecode : impl::AutodiffDecodeBase<AutodiffDecode> {
  using AutodiffDecodeBase::AutodiffDecodeBase;

  void runOnOperation() override {
    auto micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    if (!micro || !attributes::kind.is(getOperation(), npar::program::ProgramKind::Generation) || positions < 1) {
      getOperation().emitError("internal error: 'autodiff-decode' takes a program that generates, and at least 1 position");
      return signalPassFailure();
    }
    if (attributes::untestedPositions.isOn(getOperation())) // warned of: what is tested is the whole sequence
      return;
    for (auto input : micro.getOps<InputOp>()) {
      if (input.getType().getRank() != 2)
        continue;
      Decoding decoding(getOperation(), micro, cast<RankedTensorType>(input.getType()), positions);
      if (decoding.isPossible())
        decoding.run();
      return;
    }
  }
};
} // namespace

std::unique_ptr<Pass> createAutodiffDecodePass(int64_t positions) {
  AutodiffDecodeOptions options;
  options.positions = positions;
  return std::make_unique<AutodiffDecode>(options);
}

} // namespace npar::compiler
