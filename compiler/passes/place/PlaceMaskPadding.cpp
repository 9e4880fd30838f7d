// Derives where padding holds zeros and masks what a contraction or a gradient would otherwise pick up (RULES.md#P8).
#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/nn/ops/Scores.h"
#include "compiler/dialects/nn/ops/Windows.h"
#include "compiler/passes/place/Place.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using npar::dist::LayoutAttr;

namespace npar::place {

#define GEN_PASS_DEF_PLACEMASKPADDING
#include "compiler/passes/place/Passes.h.inc"

namespace {

class Padding {
public:
  explicit Padding(dist::MeshAttr mesh) : mesh(mesh) {}

  void visit(Operation *op) {
    demand(op);
    for (OpResult result : op->getResults())
      for (StringAttr axis : padded(result))
        if (leavesZero(result, axis))
          zero.insert({result, axis});
  }

private:
  SmallVector<StringAttr> padded(Value value) {
    SmallVector<StringAttr> axes;
    LayoutAttr layout = dist::layoutOf(value);
    // A flat value already has zeros in the former padding of its shards and after its end.
    for (size_t dim = 0; layout && !layout.isFlat() && dim < layout.getNames().size(); ++dim)
      if (layout.isPadded(dim, mesh))
        axes.push_back(layout.getNames()[dim]);
    return axes;
  }

  bool isZero(Value value, StringAttr axis) { return zero.contains({value, axis}); }

  /// Zero, or without padding, in every operand whose axis the loop walks; at least one has such an axis.
  bool allZero(Operation *op, StringAttr loop) {
    auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
    bool some = false;
    for (OpOperand &use : op->getOpOperands())
      for (StringAttr axis : nn::axesOf(use.get().getType())) {
        if ((shardable ? shardable.loopOfOperand(use.getOperandNumber(), axis) : axis) != loop)
          continue;
        some = true;
        if (!isZero(use.get(), axis) && llvm::is_contained(padded(use.get()), axis))
          return false;
      }
    return some;
  }

  /// Returns whether a result's padding along `axis` is zero, given the padding of the operands.
  bool leavesZero(OpResult result, StringAttr axis) {
    auto padding = dyn_cast<nn::PaddingOpInterface>(result.getOwner());
    if (!padding)
      return false;
    switch (padding.getZeroPadding(axis)) {
    case nn::ZeroPadding::Unknown:
      return false;
    case nn::ZeroPadding::Always:
      return true;
    case nn::ZeroPadding::WhereOperandsAre:
      auto shardable = dyn_cast<nn::ShardableOpInterface>(result.getOwner());
      return allZero(result.getOwner(), shardable ? shardable.loopOfResult(result.getResultNumber(), axis) : axis);
    }
    llvm_unreachable("an answer about padding without a meaning");
  }

  /// Masks operands whose padding must be zero: contracted axes of products and scattered rows; what enters variables or gets flat.
  void demand(Operation *op) {
    auto padding = dyn_cast<nn::PaddingOpInterface>(op);
    if (!padding)
      return;
    for (OpOperand &use : op->getOpOperands()) {
      SmallVector<Attribute> axes;
      for (StringAttr axis : padded(use.get()))
        if (padding.needsZeroPadding(use.getOperandNumber(), axis) && !isZero(use.get(), axis) && !isMultipliedByZero(use, axis))
          axes.push_back(axis);
      if (!axes.empty())
        use.set(mask(use.get(), axes, op));
    }
  }

  /// Windows at positions that do not exist have the entries of other positions, or the fill. So they are numbers, if those of the others
  /// are, and a product with the zeros of the other factor adds nothing. The windows themselves need no copy then.
  static bool isMultipliedByZero(OpOperand &use, StringAttr axis) {
    auto product = dyn_cast<nn::EinsumOp>(use.getOwner());
    auto windows = use.get().getDefiningOp<nn::WindowsOp>();
    if (!product || !windows || !windows.isLinear() || !llvm::is_contained(windows.getTo(), axis))
      return false;
    Value other = use.getOperandNumber() == 0 ? product.getB() : product.getA();
    return nn::hasAxis(other.getType(), axis) && !other.getDefiningOp<nn::WindowsOp>();
  }

  Value mask(Value value, ArrayRef<Attribute> axes, Operation *user) {
    OpBuilder builder(user);
    auto op = dist::MaskPaddingOp::create(builder, user->getLoc(), value.getType(), value, builder.getArrayAttr(axes));
    if (auto at = nn::getAt(user))
      nn::setAt(op, at);
    for (StringAttr axis : padded(value))
      if (llvm::is_contained(axes, axis) || isZero(value, axis))
        zero.insert({op.getResult(), axis});
    return op.getResult();
  }

  dist::MeshAttr mesh;
  llvm::DenseSet<std::pair<Value, StringAttr>> zero;
};

struct PlaceMaskPadding : impl::PlaceMaskPaddingBase<PlaceMaskPadding> {
  void runOnOperation() override {
    Padding padding(dist::meshOf(getOperation()));
    SmallVector<Operation *> ops;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<nn::ScoresOp>(op))
        return WalkResult::skip();
      ops.push_back(op);
      return WalkResult::advance();
    });
    for (Operation *op : ops)
      padding.visit(op);
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createPlaceMaskPaddingPass() { return std::make_unique<PlaceMaskPadding>(); }

} // namespace npar::place
