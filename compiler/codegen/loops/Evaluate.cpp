// Evaluates generics at the current point: scalar bodies become scalar or vector code at the outermost place where they are known.
#include "compiler/codegen/loops/Emitter.h"
#include "compiler/codegen/loops/Math.h"
#include "compiler/codegen/loops/Narrow.h"
#include "compiler/dialects/rank/Rank.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace npar::codegen {

Value Emitter::part(const Lane &lane, unsigned index) {
  OpBuilder &b = at[lane.scope];
  if (lane.base) {
    Value start = arith::AddIOp::create(b, loc(), lane.base, constantI64(b, loc(), index * nest.lanes));
    return iota(b, loc(), start, nest.lanes);
  }
  return lane.uniform ? splat(b, loc(), lane.parts[0], nest.lanes) : lane.parts[index];
}

Lane Emitter::axisIndex(StringAttr axis) {
  Lane lane;
  int loop = nest.loopOf(axis);
  if (loop < 0) {
    lane.parts.push_back(constantI64(at[CallScope], loc(), 0));
    return lane;
  }
  lane.scope = llvm::is_contained(nest.inner, loop) ? InnerScope : RowScope;
  if (loop == nest.vectorLoop) {
    lane.uniform = false;
    lane.base = loopIndex[loop];
  } else {
    lane.parts.push_back(loopIndex[loop]);
  }
  return lane;
}

Lane Emitter::word(int64_t index) {
  Value &value = words[index];
  if (!value) {
    OpBuilder &b = at[CallScope];
    Value pointer = address(b, loc(), context, b.getI64Type(), constantI64(b, loc(), index));
    value = LLVM::LoadOp::create(b, loc(), b.getI64Type(), pointer);
  }
  Lane lane;
  lane.parts.push_back(value);
  return lane;
}

// The constant that fills a reduction's start.
Lane Emitter::neutral(linalg::GenericOp op, unsigned result) {
  Lane lane;
  OpBuilder &b = at[CallScope];
  Type element = cast<RankedTensorType>(op.getResult(result).getType()).getElementType();
  TypedAttr start = b.getZeroAttr(element);
  if (auto fill = op.getDpsInits()[result].getDefiningOp<linalg::FillOp>())
    start = fill.getInputs()[0].getDefiningOp<arith::ConstantOp>().getValue();
  lane.parts.push_back(arith::ConstantOp::create(b, loc(), start));
  return lane;
}

Lane Emitter::value(Value tensor, ArrayRef<StringAttr> axes, int64_t offset) {
  if (isa<BlockArgument>(tensor)) {
    auto type = cast<RankedTensorType>(tensor.getType());
    std::vector<const void *> key = {tensor.getAsOpaquePointer(), reinterpret_cast<const void *>(offset)};
    for (StringAttr axis : axes)
      key.push_back(axis.getAsOpaquePointer());
    SmallVector<int64_t> strides = nest.strides(type, axes);
    auto &cache = loaded[scopeOf(strides)];
    auto found = cache.find(key);
    if (found == cache.end())
      found = cache.emplace(key, load(pointers[tensor], type.getElementType(), strides, offset)).first;
    return found->second;
  }
  for (auto &scope : known)
    if (auto found = scope.find(tensor); found != scope.end())
      return found->second;
  Generic &generic = info(tensor);
  if (auto found = buffered.find(tensor); found != buffered.end() && found->second < currentPhase) {
    auto type = cast<RankedTensorType>(tensor.getType());
    bool inBuffer = buffers.count(tensor);
    Lane lane = load(inBuffer ? buffers[tensor] : pointers[tensor], type.getElementType(),
                     inBuffer ? rowBufferStrides() : nest.strides(type, resultAxes(generic.op, cast<OpResult>(tensor).getResultNumber())));
    return known[lane.scope][tensor] = lane;
  }
  SmallVector<Lane> results = body(generic.op, {});
  for (auto [result, lane] : llvm::zip(generic.op.getResults(), results))
    known[lane.scope][result] = lane;
  return results[cast<OpResult>(tensor).getResultNumber()];
}

SmallVector<Lane> Emitter::body(linalg::GenericOp op, ArrayRef<Lane> accumulators) {
  llvm::DenseMap<Value, Lane> lanes;
  unsigned inputs = op.getNumDpsInputs();
  SmallVector<StringAttr> axes = loopAxes(op);
  for (unsigned i = 0; i < inputs; ++i)
    if (BlockArgument argument = op.getBody()->getArgument(i); !argument.use_empty())
      lanes[argument] = value(op.getDpsInputs()[i], operandAxes(op, i), operandOffset(op, i));
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
    if (BlockArgument argument = op.getBody()->getArgument(inputs + i); !argument.use_empty())
      lanes[argument] = accumulators.empty() ? neutral(op, i) : accumulators[i];
  for (Operation &inside : op.getBody()->without_terminator()) {
    SmallVector<Lane> operands;
    for (Value operand : inside.getOperands())
      if (!isa<RankedTensorType>(operand.getType()))
        operands.push_back(lanes.lookup(operand));
    SmallVector<Lane, 2> results;
    if (auto index = dyn_cast<linalg::IndexOp>(inside))
      results.push_back(axisIndex(axes[index.getDim()]));
    else if (isa<arith::IndexCastOp>(inside))
      results.push_back(operands[0]);
    else if (auto context = dyn_cast<rank::ContextOp>(inside))
      results.push_back(word(context.getWord()));
    else if (auto read = dyn_cast<tensor::ExtractOp>(inside))
      results.push_back(extract(read.getTensor(), operands));
    else
      results = operation(inside, operands);
    for (auto [result, lane] : llvm::zip(inside.getResults(), results))
      lanes[result] = lane;
  }
  SmallVector<Lane> results;
  for (Value yielded : op.getBody()->getTerminator()->getOperands())
    results.push_back(lanes.lookup(yielded));
  return results;
}

SmallVector<Lane, 2> Emitter::operation(Operation &op, ArrayRef<Lane> operands) {
  SmallVector<Lane, 2> results(op.getNumResults());
  int scope = CallScope;
  bool uniform = true;
  for (const Lane &operand : operands) {
    scope = std::max(scope, operand.scope);
    uniform &= operand.uniform;
  }
  OpBuilder &b = at[scope];
  // Index arithmetic keeps lanes consecutive.
  if (isa<arith::AddIOp>(op) && bool(operands[0].base) != bool(operands[1].base) && (operands[0].uniform || operands[1].uniform)) {
    const Lane &lanes = operands[0].base ? operands[0] : operands[1], &scalar = operands[0].base ? operands[1] : operands[0];
    results[0] = lanes;
    results[0].scope = scope;
    results[0].base = arith::AddIOp::create(b, loc(), lanes.base, scalar.parts[0]);
    return results;
  }
  for (Lane &result : results) {
    result.scope = scope;
    result.uniform = uniform;
  }
  for (int64_t p = 0; p < (uniform ? 1 : parts); ++p) {
    SmallVector<Value> values;
    for (const Lane &operand : operands)
      values.push_back(uniform ? operand.parts[0] : part(operand, p));
    Value expanded = expandConversion(b, &op, values);
    if (!expanded)
      expanded = expandMath(b, &op, values);
    if (expanded) {
      results[0].parts.push_back(expanded);
      continue;
    }
    Operation *copy = op.clone();
    copy->setOperands(values);
    if (!uniform)
      for (Value result : copy->getResults())
        result.setType(laneType(result.getType(), nest.lanes));
    b.insert(copy);
    for (auto [result, created] : llvm::zip(results, copy->getResults()))
      result.parts.push_back(created);
  }
  return results;
}

} // namespace npar::codegen
