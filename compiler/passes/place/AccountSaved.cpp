// place-account-saved: what the backward of a micro-batch needs of the forward, value by value, before composite ops are expanded.
#include "compiler/attributes/TableAttributes.h"
#include "compiler/dialects/dist/Dist.h"
#include "compiler/passes/place/Place.h"
#include "compiler/passes/place/RoutedRows.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <set>

using namespace mlir;

namespace npar::place {

#define GEN_PASS_DEF_PLACEACCOUNTSAVED
#include "compiler/passes/place/Passes.h.inc"

namespace {

bool isPhase(Operation *op, nn::Phase phase) {
  nn::AtAttr at = nn::getAt(op);
  return at && at.getPhase() == phase;
}

/// The blocks whose backward uses a value; apart from them those where a recomputed segment crosses from block to block.
struct Uses {
  std::set<int64_t> blocks, crossings;
};

struct PlaceAccountSaved : impl::PlaceAccountSavedBase<PlaceAccountSaved> {
  void runOnOperation() override {
    auto micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    if (!micro)
      return;
    std::vector<attributes::SavedEntry> entries;
    for (Operation &op : micro.getOps()) {
      if (!isPhase(&op, nn::Phase::Forward) || nn::isOperandItself(&op) || isFetched(&op))
        continue;
      for (OpResult result : op.getResults()) {
        Uses uses;
        collect(result, uses);
        if (!uses.blocks.empty() || !uses.crossings.empty())
          entries.push_back(entry(result, uses, isOfRows(result) ? "statistic" : "tensor"));
      }
      auto saving = dyn_cast<nn::SavingOpInterface>(op);
      if (saving && saving.keepsMask() && !op.hasAttr(nn::recomputeAttribute))
        entries.push_back(entry(op.getResult(0), {{nn::getAt(&op).getBlock()}, {}}, "mask"));
    }
    attributes::setSavedValues(getOperation(), entries);
    attributes::setRoutings(getOperation(), routedRows(micro));
    countProducts(micro);
  }

  void countProducts(func::FuncOp micro) {
    attributes::ProductFlops flops;
    for (Operation &op : micro.getOps())
      if (auto costly = dyn_cast<nn::CostOpInterface>(op))
        (isPhase(&op, nn::Phase::Forward)     ? flops.forward
         : op.hasAttr(nn::recomputeAttribute) ? flops.repeated
                                              : flops.backward) += costly.getProductFlops();
    attributes::setProductFlops(getOperation(), flops);
  }

  /// Returns whether the value is never kept: it is read where it is used (possibly a piece of it), or placing computes it from nothing at
  /// each use.
  static bool isFetched(Operation *op) {
    while (isa<dist::ReshardOp>(op) || nn::isOperandItself(op))
      if (Operation *source = op->getOperand(0).getDefiningOp())
        op = source;
      else
        return false;
    return nn::isFetched(op) || nn::isFree(op);
  }

  static void collect(Value value, Uses &uses) {
    for (Operation *user : value.getUsers())
      if (nn::isOperandItself(user))
        collect(user->getResult(0), uses);
      else if (isPhase(user, nn::Phase::Backward))
        (isa<nn::CheckpointOp>(user) ? uses.crossings : uses.blocks).insert(nn::getAt(user).getBlock());
  }

  /// Returns whether the value is a statistic, such as a norm or a ring attention stores per row: a further result with a proper subset of
  /// the first operand's axes. The papers neglect statistics because they are small compared with the rows.
  static bool isOfRows(OpResult result) {
    Operation *op = result.getOwner();
    if (result.getResultNumber() == 0 || op->getNumOperands() == 0)
      return false;
    Type rows = op->getOperand(0).getType();
    ArrayRef<StringAttr> axes = nn::axesOf(result.getType());
    return axes.size() < nn::axesOf(rows).size() && llvm::all_of(axes, [&](StringAttr axis) { return nn::hasAxis(rows, axis); });
  }

  /// A change of layout, type or name is called by what it changes.
  static StringRef kindOf(Operation *op) {
    while (isa<dist::ReshardOp, nn::ConvertOp, nn::RenameOp>(op))
      if (Operation *source = op->getOperand(0).getDefiningOp())
        op = source;
      else
        break;
    return op->getName().stripDialect();
  }

  static attributes::SavedEntry entry(Value value, const Uses &uses, StringRef as) {
    auto type = cast<RankedTensorType>(value.getType());
    nn::AtAttr at = nn::getAt(value.getDefiningOp());
    attributes::SavedEntry saved;
    saved.op = kindOf(value.getDefiningOp());
    saved.path = at.getPath();
    saved.as = as;
    saved.elements = type.getNumElements();
    saved.bits = type.getElementTypeBitWidth();
    saved.home = at.getBlock();
    saved.uses = llvm::to_vector(uses.blocks);
    saved.crossings = llvm::to_vector(uses.crossings);
    return saved;
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createPlaceAccountSavedPass() { return std::make_unique<PlaceAccountSaved>(); }

} // namespace npar::place
