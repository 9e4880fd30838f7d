// Ops of @update: verifiers and loop axes.
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Update.cpp.inc"

void nn::addUpdate(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Update.cpp.inc"
      >(dialect);
}

LogicalResult CombineOp::verify() {
  if (getUses().empty())
    return emitOpError() << "needs at least 1 operand";
  for (auto [number, use] : llvm::enumerate(getUses()))
    if (failed(requireSameElement(*this, {use.getType(), getType()})) ||
        failed(requireSameOrder(*this, use.getType(), ("operand " + Twine(number)).str(), getType(), "the result")))
      return failure();
  return success();
}

LogicalResult SquareSumsOp::verify() {
  if (getParameters().size() != getGradients().size())
    return emitOpError() << "has " << getGradients().size() << " operands but " << getParameters().size() << " parameters";
  for (auto [place, parameter] : llvm::enumerate(getParameters()))
    if (llvm::is_contained(getParameters().take_front(place), parameter))
      return emitOpError() << "parameter " << parameter << " appears twice";
  auto result = llvm::cast<RankedTensorType>(getType());
  if (result.getRank() != 1 || result.getDimSize(0) != bins || !result.getElementType().isF64())
    return emitOpError() << "the result must be " << bins << " f64 values";
  return success();
}

// Every axis of every gradient is summed on its own; the result's axis counts bins and may not be split.
SmallVector<LoopAxis> SquareSumsOp::getLoopAxes() { return withKind(defaultLoopAxes(*this), axesOf(getType()).front(), LoopKind::Whole); }

LogicalResult GradNormOp::verify() {
  auto sums = llvm::cast<RankedTensorType>(getSums().getType());
  if (sums.getRank() != 1 || !sums.getElementType().isF64())
    return emitOpError() << "needs a vector of f64 values";
  return success();
}
SmallVector<LoopAxis> GradNormOp::getLoopAxes() { return withKind({}, axesOf(getSums().getType()).front(), LoopKind::Whole); }

LogicalResult LearningRateOp::verify() {
  StringRef schedule = getSchedule();
  if (schedule != "constant" && schedule != "linear" && schedule != "cosine")
    return emitOpError() << "schedule must be \"constant\", \"linear\" or \"cosine\", not \"" << schedule << "\"";
  return success();
}

static LogicalResult verifyUpdate(Operation *op, Value gradient, ValueRange like, Type w) {
  if (isNarrow(w))
    return op->emitOpError() << "updates a parameter of type " << getElementTypeOrSelf(w) << ": needs its f32 master";
  Type g = gradient.getType();
  if ((!isNarrow(g) && failed(requireSameElement(op, {g, w}))) || failed(requireSameOrder(op, g, "each tensor", w, "the parameter")))
    return failure();
  for (Value value : like)
    if (failed(requireSameElement(op, {value.getType(), w})) ||
        failed(requireSameOrder(op, value.getType(), "each tensor", w, "the parameter")))
      return failure();
  return success();
}

LogicalResult AdamwOp::verify() { return verifyUpdate(*this, getG(), {getM(), getV(), getNewW(), getNewM(), getNewV()}, getW().getType()); }

LogicalResult SgdOp::verify() {
  if (bool(getVelocity()) != bool(getNewVelocity()))
    return emitOpError() << "has the momentum's operand or result, but not both";
  if (bool(getVelocity()) != !getMomentum().isZero())
    return emitOpError() << "momentum " << getMomentum().convertToDouble() << (getVelocity() ? " needs no" : " needs a")
                         << " momentum tensor";
  SmallVector<Value> like{getNewW()};
  if (getVelocity())
    like.append({getVelocity(), getNewVelocity()});
  return verifyUpdate(*this, getG(), like, getW().getType());
}
