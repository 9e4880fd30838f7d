// Checks the placed program as a whole, so that no later phase needs to doubt a layout (RULES.md#D1 to D4).
#include "compiler/dialects/dist/Halo.h"
#include "compiler/dialects/nn/ops/Scores.h"
#include "compiler/passes/place/Layouts.h"
#include "compiler/passes/place/Place.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using npar::dist::LayoutAttr;

namespace npar::place {

#define GEN_PASS_DEF_VERIFYDIST
#include "compiler/passes/place/Passes.h.inc"

namespace {

class Checker {
public:
  explicit Checker(dist::MeshAttr mesh) : mesh(mesh) {}

  LogicalResult check(Operation *op) {
    if (auto variable = dyn_cast<nn::VariableOp>(op))
      return checkType(op, variable.getType());
    StringRef dialect = op->getDialect() ? op->getDialect()->getNamespace() : "";
    if (dialect != "nn" && dialect != "dist")
      return success();
    if (isa<dist::ReshardOp>(op) || nn::isExpanded(op))
      return op->emitOpError("is left after placing");
    if (auto halo = dyn_cast<dist::HaloOp>(op); halo && halo.lacksEdges())
      return op->emitOpError("has no edges of other ranks");
    for (Type type : llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()), SmallVector<Type>(op->getResultTypes())))
      if (failed(checkType(op, type)))
        return failure();
    if (dialect == "dist")
      return success();
    return failure(failed(checkPartial(op)) || failed(checkSplits(op)));
  }

private:
  /// RULES.md#D1
  LogicalResult checkType(Operation *op, Type type) {
    LayoutAttr layout = dist::layoutOf(type);
    if (!layout)
      return op->emitOpError() << "has a value of type " << type << ", which has no layout";
    for (StringAttr axis : layout.getPartialAxes())
      if (mesh.sizeOf(axis) < 0)
        return op->emitOpError() << "is partial over '" << axis.getValue() << "', which is no mesh axis";
    for (ArrayAttr split : layout.getSplits())
      for (StringAttr axis : dist::stringsOf(split))
        if (mesh.sizeOf(axis) < 0)
          return op->emitOpError() << "splits over '" << axis.getValue() << "', which is no mesh axis";
    for (StringAttr axis : layout.getFlatAxes())
      if (mesh.sizeOf(axis) < 0)
        return op->emitOpError() << "is flat over '" << axis.getValue() << "', which is no mesh axis";
    llvm::SmallDenseSet<StringAttr> seen;
    auto isTwice = [&](StringAttr axis) { return !seen.insert(axis).second; };
    SmallVector<StringAttr> axes(layout.getPartialAxes());
    llvm::append_range(axes, layout.getFlatAxes());
    for (ArrayAttr split : layout.getSplits())
      llvm::append_range(axes, dist::stringsOf(split));
    if (const auto *twice = llvm::find_if(axes, isTwice); twice != axes.end())
      return op->emitError("internal error: a layout has a mesh axis twice, '") << twice->getValue() << "' in " << type;
    SmallVector<int64_t> shape = layout.localShape(mesh);
    if (cast<RankedTensorType>(type).getShape() != ArrayRef<int64_t>(shape))
      return op->emitOpError() << "has a value of type " << type << ", whose shape does not follow from its layout";
    return success();
  }

  /// RULES.md#D3
  LogicalResult checkPartial(Operation *op) {
    if (isa<nn::AccumulateOp>(op)) // its variable may be partial over anything
      return success();
    const LayoutAttr *first = nullptr;
    SmallVector<LayoutAttr> all;
    for (Value operand : op->getOperands())
      if (isa<FloatType>(getElementTypeOrSelf(operand.getType())))
        all.push_back(dist::layoutOf(operand));
    for (const LayoutAttr &layout : all) {
      if (layout.isPartial() && !acceptsPartialOperands(op))
        return op->emitOpError() << "is not linear but has a partial operand";
      first = first ? first : &layout;
      if (layout.getPartialAxes() != first->getPartialAxes())
        return op->emitOpError() << "has operands that are partial over different mesh axes";
    }
    return success();
  }

  /// RULES.md#D4
  LogicalResult checkSplits(Operation *op) {
    if (!op->hasTrait<nn::AxesAgree>() && !op->hasTrait<nn::SplitsAgree>())
      return success();
    auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
    llvm::SmallDenseMap<StringAttr, ArrayAttr> splits;
    std::optional<ArrayRef<StringAttr>> flat;
    auto check = [&](Value value, llvm::function_ref<StringAttr(StringAttr)> loopOf) -> LogicalResult {
      LayoutAttr layout = dist::layoutOf(value);
      if (nn::axesOf(value.getType()).empty())
        return success();
      if (!flat)
        flat = layout.getFlatAxes();
      if (*flat != layout.getFlatAxes())
        return op->emitOpError("has operands that are flat over different mesh axes");
      for (auto [name, split] : llvm::zip(layout.getNames(), layout.getSplits())) {
        ArrayAttr &known = splits[loopOf(name)];
        if (!known)
          known = split;
        if (known != split)
          return op->emitOpError() << "splits axis '" << name.getValue() << "' over " << known << " and over " << split;
      }
      return success();
    };
    for (OpOperand &use : op->getOpOperands())
      if (failed(
              check(use.get(), [&](StringAttr axis) { return shardable ? shardable.loopOfOperand(use.getOperandNumber(), axis) : axis; })))
        return failure();
    for (OpResult result : op->getResults())
      if (failed(check(result, [&](StringAttr axis) { return shardable ? shardable.loopOfResult(result.getResultNumber(), axis) : axis; })))
        return failure();
    return success();
  }

  dist::MeshAttr mesh;
};

struct VerifyDist : impl::VerifyDistBase<VerifyDist> {
  void runOnOperation() override {
    Checker checker(dist::meshOf(getOperation()));
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<nn::ScoresOp>(op)) // its tensors are scores wherever they are
        return WalkResult::skip();
      if (failed(checker.check(op)))
        signalPassFailure();
      return WalkResult::advance();
    });
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createVerifyDistPass() { return std::make_unique<VerifyDist>(); }

} // namespace npar::place
