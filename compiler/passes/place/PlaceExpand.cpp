// Replaces composite operations by local ones, in program order.
#include "compiler/passes/place/LocalBuilder.h"
#include "compiler/passes/place/Place.h"

#include "mlir/IR/BuiltinOps.h"
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
                nn::AttentionGradOp, nn::CrossEntropyOp, nn::CrossEntropyGradOp>([](auto composite) { expand(composite); });
  }
};

} // namespace
} // namespace npar::place

std::unique_ptr<mlir::Pass> npar::createPlaceExpandPass() { return std::make_unique<place::PlaceExpand>(); }
