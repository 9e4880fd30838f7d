// Walks from each dispatch back to the product of its router.
#include "compiler/passes/prepare/RouterOps.h"

#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/ops/Experts.h"

namespace npar::compiler {

using namespace mlir;
using namespace nn;

namespace {

class RouterWalk {
public:
  llvm::SmallPtrSet<Operation *, 32> found; ///< those with float results

  /// Adds what makes a value, up to the router's product and to tensors over the axes of `rows`.
  void add(Value value, Type rows) {
    SmallVector<Value> open{value};
    while (!open.empty()) {
      Operation *op = open.pop_back_val().getDefiningOp();
      if (!op || isa<ReadOp, InputOp>(op) || isOverAxesOf(op, rows) || !seen.insert(op).second)
        continue;
      if (llvm::any_of(op->getResultTypes(), [](Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }))
        found.insert(op);
      if (!isa<EinsumOp>(op))
        llvm::append_range(open, op->getOperands());
    }
  }

private:
  static bool isOverAxesOf(Operation *op, Type rows) {
    return llvm::any_of(op->getResultTypes(), [&](Type type) {
      return axesOf(type).size() == axesOf(rows).size() && llvm::all_of(axesOf(rows), [&](StringAttr axis) { return hasAxis(type, axis); });
    });
  }

  llvm::SmallPtrSet<Operation *, 32> seen;
};

} // namespace

llvm::SmallPtrSet<Operation *, 32> findRouterOps(func::FuncOp function) {
  RouterWalk walk;
  llvm::DenseMap<Value, Type> rowsOf; // by the sources of rows
  for (auto dispatch : function.getOps<DispatchOp>())
    if (dispatch.getSlot()) {
      Value x = dispatch.getX();
      while (auto rename = x.getDefiningOp<RenameOp>())
        x = rename.getX();
      Type rows = rowsOf[dispatch.getSource()] = x.getType();
      walk.add(dispatch.getSource(), rows);
      walk.add(dispatch.getPlace(), rows);
    }
  // The weights of rows are dispatched over their choices, which have no further axis of choices.
  for (auto dispatch : function.getOps<DispatchOp>())
    if (auto rows = rowsOf.find(dispatch.getSource()); !dispatch.getSlot() && rows != rowsOf.end())
      walk.add(dispatch.getResult(), rows->second);
  return walk.found;
}

} // namespace npar::compiler
