// Derives where padding holds zeros and masks what a contraction or a gradient would otherwise pick up (P8).
#include "compiler/dialects/dist/Dist.h"
#include "compiler/passes/place/Place.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace npar {
#define GEN_PASS_DEF_PLACEMASKPADDING
#include "compiler/passes/place/Passes.h.inc"
} // namespace npar

using namespace mlir;
using npar::dist::LayoutAttr;

namespace npar::place {
namespace {

class Padding {
public:
  explicit Padding(dist::MeshAttr mesh) : mesh(mesh) {}

  void visit(Operation *op) {
    demand(op);
    for (Value result : op->getResults())
      for (StringAttr axis : padded(result))
        if (leavesZero(op, axis))
          zero.insert({result, axis});
  }

private:
  SmallVector<StringAttr> padded(Value value) {
    SmallVector<StringAttr> axes;
    LayoutAttr layout = dist::layoutOf(value);
    // What is flat holds zeros in the padding that its shards had, and beyond its end.
    for (size_t dim = 0; layout && !layout.isFlat() && dim < layout.getNames().size(); ++dim)
      if (layout.isPadded(dim, mesh))
        axes.push_back(layout.getNames()[dim]);
    return axes;
  }

  bool isZero(Value value, StringAttr axis) { return zero.contains({value, axis}); }

  /// Zero in every operand that has the axis; at least one has it.
  bool allZero(Operation *op, StringAttr axis) {
    bool some = false;
    for (Value operand : op->getOperands())
      if (nn::hasAxis(operand.getType(), axis)) {
        some = true;
        if (!isZero(operand, axis))
          return false;
      }
    return some;
  }

  /// Whether the result's padding along `axis` is zero, given that of the operands.
  bool leavesZero(Operation *op, StringAttr axis) {
    if (isa<nn::ReadOp>(op))
      return true;
    if (auto mask = dyn_cast<dist::MaskPaddingOp>(op))
      return isZero(mask.getInput(), axis) || llvm::is_contained(mask.getDims(), axis);
    // Rows that no index names: indices are below the global size.
    if (isa<nn::OneHotOp, nn::ScatterAddOp>(op) && op->getAttrOfType<StringAttr>("axis") == axis)
      return true;
    if (isa<nn::AdamwOp, nn::SgdOp, nn::CombineOp, nn::EinsumOp, nn::MulOp, nn::ScaleOp, nn::ConvertOp, nn::ReluOp, nn::GeluOp, nn::TanhOp,
            nn::SiluOp, nn::SiluGradOp, nn::ReluGradOp, nn::GeluGradOp, nn::TanhGradOp, nn::DropoutOp, nn::SumOp, nn::GatherOp,
            nn::ScatterAddOp, nn::SelectOp, nn::StackOp, nn::KeepValidOp>(op))
      return allZero(op, axis);
    if (isa<nn::AddOp, nn::SubOp>(op))
      return allZero(op, axis) && nn::hasAxis(op->getOperand(0).getType(), axis) && nn::hasAxis(op->getOperand(1).getType(), axis);
    if (auto rename = dyn_cast<nn::RenameOp>(op))
      return isZero(rename.getX(), rename.getToAttr() == axis ? rename.getFromAttr() : axis);
    // Slices pad with zeros themselves; other moves carry what is there.
    if (isa<dist::SliceOp>(op))
      return true;
    if (op->getDialect() && op->getDialect()->getNamespace() == "dist")
      return allZero(op, axis) || !llvm::is_contained(padded(op->getOperand(0)), axis);
    return false;
  }

  /// Masks operands whose padding must be zero: contracted axes of products and scattered rows; what enters variables or gets flat.
  void demand(Operation *op) {
    for (OpOperand &use : op->getOpOperands()) {
      SmallVector<Attribute> axes;
      for (StringAttr axis : padded(use.get())) {
        bool summed = isa<nn::EinsumOp>(op) || (isa<nn::ScatterAddOp>(op) && use.getOperandNumber() == 1);
        bool contracted = summed && !nn::hasAxis(op->getResult(0).getType(), axis);
        bool flattened = isa<dist::ReshardOp>(op) && dist::layoutOf(op->getResult(0)).isFlat();
        if ((contracted || flattened || isa<nn::AccumulateOp, nn::WriteOp, nn::SquareSumsOp>(op)) && !isZero(use.get(), axis))
          axes.push_back(axis);
      }
      if (!axes.empty())
        use.set(mask(use.get(), axes, op));
    }
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
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      padding.visit(op);
  }
};

} // namespace
} // namespace npar::place

std::unique_ptr<mlir::Pass> npar::createPlaceMaskPaddingPass() { return std::make_unique<place::PlaceMaskPadding>(); }
