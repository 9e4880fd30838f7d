// Finds the results of a kernel that may reuse an operand's buffer: each element is read before the result is stored at the same index.
#include "compiler/codegen/outline/Outline.h"

using namespace mlir;

namespace npar::codegen {

static bool sameStorage(Type x, Type y) {
  auto a = cast<RankedTensorType>(x), b = cast<RankedTensorType>(y);
  return a.getShape() == b.getShape() && a.getElementType() == b.getElementType() && nn::axesOf(a) == nn::axesOf(b);
}

SmallVector<std::pair<int64_t, int64_t>> inplacePairs(rank::KernelOp kernel) {
  Block &block = kernel.getBody().front();
  // A row is walked once per phase; a value after a reduction belongs to a later phase. Operands are read in any phase, so an element
  // stored inside a row has to be of the last one; what is kept per row is stored at its end.
  llvm::DenseMap<Operation *, int> phase;
  SmallVector<StringAttr> reduced;
  int last = 0;
  bool alone = false;
  for (Operation &op : block.without_terminator()) {
    OpLoops loops = loopsOf(&op);
    alone |= loops.alone && !loops.ownNest; // every element of a product is read many times
    if (!loops.reduced.empty())
      reduced = loops.reduced;
  }
  auto isInner = [&](Type type) { return llvm::any_of(reduced, [&](StringAttr axis) { return nn::hasAxis(type, axis); }); };
  for (Operation &op : block.without_terminator()) {
    int &own = phase[&op];
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        own = std::max(own, phase[producer] + (loopsOf(producer).reduced.empty() ? 0 : 1));
    if (!loopsOf(&op).reduced.empty() || isInner(op.getResult(0).getType()))
      last = std::max(last, own);
  }
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (auto [i, result] : llvm::enumerate(block.getTerminator()->getOperands())) {
    Operation *producer = result.getDefiningOp();
    if (!producer || alone || (isInner(result.getType()) && phase[producer] != last))
      continue;
    for (BlockArgument argument : block.getArguments()) {
      bool elementwise = sameStorage(result.getType(), argument.getType());
      for (Operation *user : argument.getUsers())
        elementwise &= !llvm::is_contained(loopsOf(user).external, argument);
      if (elementwise)
        pairs.emplace_back(i, argument.getArgNumber());
    }
  }
  return pairs;
}

} // namespace npar::codegen
