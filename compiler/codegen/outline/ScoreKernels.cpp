// Makes kernels of the formulas by which attention changes its scores: on blocks, with rows of queries or of keys, and their gradients.
#include "compiler/codegen/outline/Outline.h"

#include "engine/program/Attentions.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace npar::codegen {
namespace {

class ScoreKernel {
public:
  ScoreKernel(nn::ScoresOp scores, const ScoreBlocks &blocks)
      : scores(scores), blocks(blocks), b(OpBuilder::atBlockEnd(scores->getBlock())), loc(scores.getLoc()) {
    query = b.getStringAttr(nn::ScoresOp::query), key = b.getStringAttr(nn::ScoresOp::keys);
  }

  rank::KernelOp build() {
    auto kernel =
        rank::KernelOp::create(b, loc, b.getStringAttr(blocks.differentiates ? "scores_grad" : "scores"), b.getI64IntegerAttr(1),
                               b.getF64FloatAttr(0), b.getArrayAttr({}), b.getF64FloatAttr(1), rank::ExistingAttr(), FlatSymbolRefAttr());
    Block &block = kernel.getBody().emplaceBlock(), &formula = scores.getBody().front();
    for (BlockArgument argument : formula.getArguments())
      mapping.map(argument, block.addArgument(onBlock(argument.getType()), loc));
    b.setInsertionPointToStart(&block);
    for (Operation &op : formula.without_terminator()) {
      Operation *made = b.clone(op, mapping);
      for (Value result : made->getResults())
        result.setType(onBlock(result.getType()));
    }
    SmallVector<Value> results;
    for (Value value : formula.getTerminator()->getOperands())
      results.push_back(mapping.lookup(value));
    if (blocks.differentiates)
      results = differentiate(block, results.front());
    for (Value &result : results) // no result is an argument, or there twice
      if (isa<BlockArgument>(result) || llvm::count(results, result) > 1)
        result = nn::BroadcastOp::create(b, loc, result.getType(), result);
    rank::YieldOp::create(b, loc, results);
    double flops = 0;
    SmallVector<Operation *> all;
    for (Operation &op : block.without_terminator())
      all.push_back(&op);
    for (Operation *op : llvm::reverse(all)) {
      if (isOpTriviallyDead(op))
        op->erase();
      else
        flops += nn::defaultFlops(op);
    }
    kernel.setFlopsAttr(b.getF64FloatAttr(flops));
    return kernel;
  }

private:
  /// The type on a block: rows first.
  Type onBlock(Type type) const {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<StringAttr> axes;
    SmallVector<int64_t> sizes;
    StringAttr rows = blocks.ofKeys ? key : query, columns = blocks.ofKeys ? query : key;
    for (auto [axis, size] : {std::pair(rows, program::scoreRows), std::pair(columns, blocks.columns)})
      if (nn::hasAxis(type, axis))
        axes.push_back(axis), sizes.push_back(size);
    for (auto [axis, size] : llvm::zip(nn::axesOf(type), tensor.getShape()))
      if (axis != query && axis != key)
        axes.push_back(axis), sizes.push_back(size);
    return nn::withAxes(tensor.getElementType(), axes, sizes);
  }

  //===- Gradients ---------------------------------------------------------------------------------------------------------===//

  /// The argument of a sloped datum that `op` widens and repeats over queries and keys, or the table that `op` looks up in. A datum that is
  /// already wide and has both queries and keys needs no such op.
  BlockArgument datumOf(Operation *op) const {
    Value from;
    if (auto gather = dyn_cast<nn::GatherOp>(op))
      from = gather.getTable();
    else if (auto broadcast = dyn_cast<nn::BroadcastOp>(op))
      from = broadcast.getX();
    else if (auto convert = dyn_cast<nn::ConvertOp>(op);
             convert && nn::hasAxis(convert.getType(), query) && nn::hasAxis(convert.getType(), key))
      from = convert.getX();
    while (auto convert = from ? from.getDefiningOp<nn::ConvertOp>() : nn::ConvertOp())
      from = convert.getX();
    return dyn_cast_or_null<BlockArgument>(from);
  }

  void findActive(Block &block) {
    for (int64_t number : blocks.sloped)
      active.insert(block.getArgument(nn::ScoresOp::positions + number));
    active.insert(block.getArgument(0));
    for (Operation &op : block)
      if (llvm::any_of(op.getOperands(), [&](Value operand) { return active.contains(operand); }))
        for (Value result : op.getResults())
          if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
            active.insert(result);
  }

  void contribute(Value value, Value gradient) {
    Value &sum = gradients[value];
    sum = sum ? nn::AddOp::create(b, loc, value.getType(), gradient, sum).getResult() : gradient;
  }

  Value gradientOr0(Value value) {
    if (Value gradient = gradients.lookup(value))
      return gradient;
    auto score = scores.getBody().getArgument(0).getType();
    return nn::FillOp::create(b, loc, onBlock(score), b.getF64FloatAttr(0));
  }

  /// Gradients of the scores and what slopes are to be added up of, from those of `changed`, which become the last argument.
  SmallVector<Value> differentiate(Block &block, Value changed) {
    findActive(block);
    SmallVector<Operation *> forward;
    for (Operation &op : block)
      forward.push_back(&op);
    contribute(changed, block.addArgument(changed.getType(), loc));
    llvm::DenseMap<BlockArgument, Operation *> entries; // of data: where they come in
    for (Operation *op : llvm::reverse(forward)) {
      if (op->getNumResults() != 1 || !active.contains(op->getResult(0)))
        continue;
      BlockArgument datum = datumOf(op);
      if (datum && datum.getArgNumber() >= nn::ScoresOp::positions && active.contains(datum)) {
        entries[datum] = op;
        continue;
      }
      Value gradient = gradients.lookup(op->getResult(0));
      auto differentiable = dyn_cast<nn::DifferentiableOpInterface>(op);
      if (!gradient || !differentiable)
        continue;
      SmallVector<Value> toOperands = differentiable.buildGradients(b, gradient);
      for (size_t i = toOperands.size(); i-- > 0;)
        if (toOperands[i] && active.contains(op->getOperand(i)))
          contribute(op->getOperand(i), toOperands[i]);
    }
    SmallVector<Value> results = {gradientOr0(block.getArgument(0))};
    for (int64_t number : blocks.sloped) {
      BlockArgument datum = block.getArgument(nn::ScoresOp::positions + number);
      Operation *entry = entries.lookup(datum);
      results.push_back(gradientOr0(entry ? Value(entry->getResult(0)) : Value(datum)));
      if (auto gather = dyn_cast_or_null<nn::GatherOp>(entry))
        results.push_back(gather.getIdx());
    }
    return results;
  }

  nn::ScoresOp scores;
  const ScoreBlocks &blocks;
  OpBuilder b;
  Location loc;
  StringAttr query, key;
  IRMapping mapping;
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Value> gradients;
};

} // namespace

rank::KernelOp scoreKernel(nn::ScoresOp scores, const ScoreBlocks &blocks) { return ScoreKernel(scores, blocks).build(); }

} // namespace npar::codegen
