// Spells out ops on state that hide a read, an add and a write, and splits the sums of squares by parameter.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/codegen/outline/Outline.h"
#include "compiler/dialects/nn/ops/Integer.h"

using namespace mlir;

namespace npar::codegen {

static void copyPlace(Operation *from, ArrayRef<Operation *> to) {
  for (Operation *op : to)
    attributes::at.copy(from, op);
}

static void rewriteAccumulate(nn::AccumulateOp op) {
  OpBuilder b(op);
  Type type = op.getValue().getType();
  auto old = nn::ReadOp::create(b, op.getLoc(), type, op.getVariableAttr());
  Operation *sum = isa<FloatType>(getElementTypeOrSelf(type)) ? nn::AddOp::create(b, op.getLoc(), type, old, op.getValue()).getOperation()
                                                              : nn::IntegerOp::create(b, op.getLoc(), type, old, op.getValue(), "add");
  auto write = nn::WriteOp::create(b, op.getLoc(), op.getVariableAttr(), sum->getResult(0));
  copyPlace(op, {old, sum, write});
  op.erase();
}

void writeWhatIsAddedOnce(ModuleOp module) {
  if (attributes::microCount.get(module) != 1)
    return;
  llvm::MapVector<std::pair<Attribute, StringRef>, SmallVector<nn::AccumulateOp>> sums; // stage, accumulator
  for (Operation &fragment : module.getOps())
    if (fragment.getName().getStringRef() == "pipe.fragment")
      fragment.walk([&](nn::AccumulateOp op) { sums[{fragment.getAttr("stage"), op.getVariable()}].push_back(op); });
  for (auto &[place, all] : sums)
    if (all.size() == 1) {
      OpBuilder b(all.front());
      copyPlace(all.front(), {nn::WriteOp::create(b, all.front().getLoc(), all.front().getVariableAttr(), all.front().getValue())});
      all.front().erase();
    }
}

// Mesh axes along which equal copies of a gradient are added up: they count once.
static ArrayAttr replicasOf(nn::SquareSumsOp op, Value gradient) {
  MLIRContext *context = op.getContext();
  SmallVector<Attribute> replicas;
  auto module = op->getParentOfType<ModuleOp>();
  auto pipeline = attributes::pipelineAxis.get(module);
  dist::LayoutAttr sums = dist::layoutOf(op.getType()), layout = dist::layoutOf(gradient);
  if (sums && layout)
    for (StringAttr axis : sums.getPartialAxes())
      if (axis != pipeline && !layout.splitsOver(axis))
        replicas.push_back(axis);
  return ArrayAttr::get(context, replicas);
}

static void rewriteSquareSums(nn::SquareSumsOp op) {
  OpBuilder b(op);
  SmallVector<Value> sums;
  for (Value gradient : op.getGradients()) {
    int64_t size = cast<RankedTensorType>(gradient.getType()).getNumElements();
    auto axes = nn::AxesAttr::get(b.getContext(), b.getStringAttr("block"));
    auto type = RankedTensorType::get(llvm::divideCeil(size, rank::SquareSumOp::blockSize()), b.getF64Type(), axes);
    // Each reader of a tied parameter's gradient adds up its parts, because their stored sum would be as large as the parameter.
    auto combined = gradient.getDefiningOp<nn::CombineOp>();
    ValueRange gradients = combined ? ValueRange(combined.getUses()) : ValueRange(gradient);
    auto sum = rank::SquareSumOp::create(b, op.getLoc(), type, gradients, replicasOf(op, gradient));
    copyPlace(op, {sum});
    sums.push_back(sum);
  }
  auto binned = rank::BinSumsOp::create(b, op.getLoc(), op.getType(), sums);
  copyPlace(op, {binned});
  op.replaceAllUsesWith(binned.getOperation());
  op.erase();
}

void rewriteState(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto accumulate = dyn_cast<nn::AccumulateOp>(op)) {
      rewriteAccumulate(accumulate);
    } else if (auto combine = dyn_cast<nn::CombineOp>(op)) {
      if (combine.getUses().size() == 1 && combine.getUses().front().getType() == combine.getType()) {
        combine.replaceAllUsesWith(combine.getUses().front());
        combine.erase();
      }
    } else if (auto squares = dyn_cast<nn::SquareSumsOp>(op)) {
      rewriteSquareSums(squares);
    }
  }
}

} // namespace npar::codegen
