// Replaces composite operations by local ones, in program order.
#include "compiler/passes/place/LocalBuilder.h"
#include "compiler/passes/place/Place.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/TypeSwitch.h"

namespace npar {
#define GEN_PASS_DEF_PLACEEXPAND
#include "compiler/passes/place/Passes.h.inc"
} // namespace npar

namespace npar::place {
namespace {

struct PlaceExpand : impl::PlaceExpandBase<PlaceExpand> {
  void runOnOperation() override {
    llvm::SmallVector<mlir::Operation *> ops;
    getOperation().walk([&](mlir::Operation *op) { ops.push_back(op); });
    for (mlir::Operation *op : ops)
      llvm::TypeSwitch<mlir::Operation *>(op)
          .Case<nn::LayerNormOp, nn::LayerNormGradOp, nn::RmsNormOp, nn::RmsNormGradOp, nn::SoftmaxOp, nn::SoftmaxGradOp, nn::AttentionOp,
                nn::AttentionGradOp, nn::CrossEntropyOp, nn::CrossEntropyGradOp>([&](auto composite) {
            mlir::Operation *before = composite->getPrevNode(), *behind = composite->getNextNode();
            bool isOfSegment = composite->hasAttr(nn::recomputeAttribute);
            expand(composite);
            if (isOfSegment)
              dropUnused(before, behind);
          });
  }

  /// What an expansion has made between two ops for a result that nothing uses: an attention that the backward repeats needs no output.
  void dropUnused(mlir::Operation *before, mlir::Operation *behind) {
    if (!behind)
      return;
    for (mlir::Operation *op = behind->getPrevNode(); op && op != before;) {
      mlir::Operation *previous = op->getPrevNode();
      if (mlir::isOpTriviallyDead(op))
        op->erase();
      op = previous;
    }
  }
};

} // namespace
} // namespace npar::place

std::unique_ptr<mlir::Pass> npar::createPlaceExpandPass() { return std::make_unique<place::PlaceExpand>(); }
