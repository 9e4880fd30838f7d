// What fusion needs to know of a prim: its loops in walking order, what it reduces, which operands it must find in memory.
#include "compiler/codegen/lowering/Lowering.h"
#include "compiler/codegen/outline/Outline.h"

using namespace mlir;

namespace npar::codegen {

bool isFusable(Operation *op) {
  // Einsum too: what rewriteProducts left.
  return isa<LowerableOpInterface, nn::ScatterAddOp, rank::SquareSumOp, rank::PlaceOp>(op);
}

OpLoops loopsOf(Operation *op) {
  OpLoops result;
  Type type = op->getResult(0).getType();
  auto add = [&](Type from, bool reduce) {
    for (auto [axis, size] : llvm::zip(nn::axesOf(from), cast<RankedTensorType>(from).getShape())) {
      if (size == 1 || result.has(axis))
        continue;
      result.loops.emplace_back(axis, size);
      if (reduce && !nn::hasAxis(type, axis))
        result.reduced.push_back(axis);
    }
  };
  if (isa<nn::SumOp, nn::MaxOp, nn::PickOp>(op)) {
    add(op->getOperand(0).getType(), true); // in the operand's order: that is contiguous
  } else if (isa<nn::EinsumOp>(op)) {
    SmallVector<Type> types = {type, op->getOperand(0).getType(), op->getOperand(1).getType()};
    for (Type from : types)
      add(from, true);
    // The last axis of the result is walked innermost.
    if (!result.reduced.empty() && result.loops.size() > result.reduced.size()) {
      size_t kept = result.loops.size() - result.reduced.size();
      std::rotate(result.loops.begin() + kept - 1, result.loops.begin() + kept, result.loops.end());
    }
    result.alone = true;
  } else {
    add(type, false);
  }
  if (auto gather = dyn_cast<nn::GatherOp>(op))
    result.external.push_back(gather.getTable());
  if (isa<nn::SelectOp, dist::SliceOp, nn::GradNormOp, nn::ScatterAddOp, rank::SquareSumOp, rank::PlaceOp>(op))
    result.external.append(op->operand_begin(), op->operand_end());
  result.alone |= isa<nn::ScatterAddOp, rank::SquareSumOp, rank::PlaceOp>(op);
  return result;
}

bool isColumnReduction(const OpLoops &loops) {
  return !loops.reduced.empty() && !llvm::is_contained(loops.reduced, loops.loops.back().first);
}

bool isCheap(Operation *op) {
  return isa<nn::AddOp, nn::SubOp, nn::MulOp, nn::DivOp, nn::Max2Op, nn::ScaleOp, nn::ShiftOp, nn::ReluOp, nn::ReluGradOp, nn::TanhGradOp,
             nn::ConvertOp, nn::FillOp, nn::IndexOp, nn::BroadcastOp, nn::OneHotOp, nn::CausalMaskOp, nn::KeepValidOp, dist::MaskPaddingOp>(
      op);
}

} // namespace npar::codegen
