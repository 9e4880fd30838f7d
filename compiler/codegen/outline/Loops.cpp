// The properties of a prim that decide fusion: its loops in walking order, its reduced axes, the operands it must find in memory.
#include "compiler/codegen/outline/Outline.h"

using namespace mlir;

namespace npar::codegen {

bool isFusable(Operation *op) {
  // Einsum too: what rewriteProducts left.
  auto asked = dyn_cast<nn::KernelOpInterface>(op);
  return asked && (isa<nn::LowerableOpInterface>(op) || asked.getNest() == nn::Nest::Own);
}

static int64_t sizeOf(Operation *op, StringAttr axis) {
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(op->getResultTypes()), SmallVector<Type>(op->getOperandTypes())))
    if (nn::hasAxis(type, axis))
      return nn::sizeOf(type, axis);
  llvm_unreachable("a loop that no operand and no result has");
}

OpLoops loopsOf(Operation *op) {
  auto asked = cast<nn::KernelOpInterface>(op);
  OpLoops result;
  Type type = op->getResult(0).getType();
  for (StringAttr axis : asked.getLoopOrder()) {
    int64_t size = sizeOf(op, axis);
    if (size == 1) {
      result.units.push_back(axis);
      continue;
    }
    result.loops.emplace_back(axis, size);
    if (!nn::hasAxis(type, axis))
      result.reduced.push_back(axis);
  }
  for (OpOperand &use : op->getOpOperands())
    if (asked.readsElsewhere(use.getOperandNumber()))
      result.external.push_back(use.get());
  result.costly = asked.getEffort() == nn::Effort::Much;
  result.ownNest = asked.getNest() == nn::Nest::Own;
  result.alone = asked.getNest() != nn::Nest::Shared;
  return result;
}

bool isColumnReduction(const OpLoops &loops) {
  return !loops.reduced.empty() && !llvm::is_contained(loops.reduced, loops.loops.back().first);
}

bool isDoneAgain(Operation *op) {
  auto asked = dyn_cast<nn::KernelOpInterface>(op);
  return asked && (asked.getEffort() == nn::Effort::None || asked.getEffort() == nn::Effort::Little);
}

} // namespace npar::codegen
