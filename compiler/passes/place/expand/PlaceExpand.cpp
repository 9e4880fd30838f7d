// Replaces composite operations by local ones, in program order.
#include "compiler/dialects/dist/Dist.h"
#include "compiler/passes/place/Place.h"
#include "compiler/passes/place/expand/Expand.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

#include "compiler/passes/place/expand/ExpandableOpInterface.cpp.inc"

namespace npar::place {

#define GEN_PASS_DEF_PLACEEXPAND
#include "compiler/passes/place/Passes.h.inc"

void registerExpansions(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, nn::NnDialect *) {
    for (auto attach : {attachAttention, attachCrossEntropy, attachLayerNorm, attachRmsNorm})
      attach(context);
  });
}

namespace {

struct PlaceExpand : impl::PlaceExpandBase<PlaceExpand> {
  void getDependentDialects(mlir::DialectRegistry &registry) const override {
    PlaceExpandBase::getDependentDialects(registry);
    registerExpansions(registry);
  }

  void runOnOperation() override {
    llvm::SmallVector<ExpandableOpInterface> composites;
    getOperation().walk([&](ExpandableOpInterface op) { composites.push_back(op); });
    for (ExpandableOpInterface composite : composites) {
      mlir::Operation *before = composite->getPrevNode(), *after = composite->getNextNode();
      bool isOfSegment = composite->hasAttr(nn::recomputeAttribute);
      composite.expand();
      if (isOfSegment)
        dropUnused(before, after);
    }
  }

  /// Removes unused ops that an expansion has added between two ops: an attention that the backward repeats needs no output.
  void dropUnused(mlir::Operation *before, mlir::Operation *after) {
    if (!after)
      return;
    for (mlir::Operation *op = after->getPrevNode(); op && op != before;) {
      mlir::Operation *previous = op->getPrevNode();
      if (mlir::isOpTriviallyDead(op))
        op->erase();
      op = previous;
    }
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createPlaceExpandPass() { return std::make_unique<PlaceExpand>(); }

} // namespace npar::place
