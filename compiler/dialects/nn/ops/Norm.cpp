// Layer normalisation, normalisation by the root mean square, and softmax: one axis is internal, the others are parallel.
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Norm.cpp.inc"

void nn::addNorm(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Norm.cpp.inc"
      >(dialect);
}

// gamma, beta: [axis]; mean, rstd: x without axis. A norm without a mean has neither beta nor mean.
static LogicalResult verifyNorm(Operation *op, Type x, ValueRange vectors, StringRef vectorNames, ValueRange moments, StringRef momentNames,
                                StringAttr axis) {
  if (failed(requireAxis(op, x, "x", axis)))
    return failure();
  for (Value vector : vectors)
    if (axesOf(vector.getType()) != ArrayRef<StringAttr>(axis))
      return op->emitOpError() << vectorNames << " must have exactly the axis '" << axis.getValue() << "'";
  for (Value moment : moments)
    if (failed(requireWithout(op, moment.getType(), momentNames, x, "x", {axis})))
      return failure();
  return success();
}

LogicalResult LayerNormOp::verify() {
  Type x = getX().getType();
  if (failed(requireSameElement(
          *this, {x, getGamma().getType(), getBeta().getType(), getY().getType(), getMean().getType(), getRstd().getType()})))
    return failure();
  return failure(
      failed(verifyNorm(*this, x, {getGamma(), getBeta()}, "gamma and beta", {getMean(), getRstd()}, "mean and rstd", getAxisAttr())) ||
      failed(requireSameOrder(*this, getY().getType(), "y", x, "x")));
}

LogicalResult LayerNormGradOp::verify() {
  Type x = getX().getType();
  if (failed(verifyNorm(*this, x, {getGamma(), getDgamma(), getDbeta()}, "gamma and beta", {getMean(), getRstd()}, "mean and rstd",
                        getAxisAttr())))
    return failure();
  return failure(failed(requireSameOrder(*this, getDy().getType(), "dy", x, "x")) ||
                 failed(requireSameOrder(*this, getDx().getType(), "dx", x, "x")));
}

// The types of a row's statistics (mean and scale), which have the axes of y without the normalised axis.
static SmallVector<Type> typesOfRows(RankedTensorType y, DictionaryAttr attributes, size_t count) {
  return SmallVector<Type>(count, withoutAxes(y, {attributes.getAs<StringAttr>("axis")}));
}
SmallVector<Type> LayerNormOp::getFurtherTypes(RankedTensorType y, DictionaryAttr attributes) { return typesOfRows(y, attributes, 2); }
SmallVector<Type> RmsNormOp::getFurtherTypes(RankedTensorType y, DictionaryAttr attributes) { return typesOfRows(y, attributes, 1); }

SmallVector<LoopAxis> LayerNormOp::getLoopAxes() { return withKind(defaultLoopAxes(*this), getAxisAttr(), LoopKind::Internal); }
SmallVector<LoopAxis> LayerNormGradOp::getLoopAxes() { return withKind(defaultLoopAxes(*this), getAxisAttr(), LoopKind::Internal); }
double LayerNormOp::getFlops() { return 8 * loopVolume(*this); }
double LayerNormGradOp::getFlops() { return 14 * loopVolume(*this); }

SmallVector<Value> LayerNormOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  if (!gradients[0] || gradients[1] || gradients[2]) {
    emitOpError() << "no gradient flows through the mean and the deviation";
    return {};
  }
  auto grad = LayerNormGradOp::create(builder, getLoc(), TypeRange{getX().getType(), getGamma().getType(), getBeta().getType()}, getX(),
                                      getGamma(), getMean(), getRstd(), gradients[0], getAxisAttr());
  return {grad.getDx(), grad.getDgamma(), grad.getDbeta()};
}

LogicalResult RmsNormOp::verify() {
  Type x = getX().getType();
  return failure(failed(requireSameElement(*this, {x, getGamma().getType(), getY().getType(), getRstd().getType()})) ||
                 failed(verifyNorm(*this, x, {getGamma()}, "gamma", {getRstd()}, "rstd", getAxisAttr())) ||
                 failed(requireSameOrder(*this, getY().getType(), "y", x, "x")));
}
LogicalResult RmsNormGradOp::verify() {
  Type x = getX().getType();
  return failure(failed(verifyNorm(*this, x, {getGamma(), getDgamma()}, "gamma", {getRstd()}, "rstd", getAxisAttr())) ||
                 failed(requireSameOrder(*this, getDy().getType(), "dy", x, "x")) ||
                 failed(requireSameOrder(*this, getDx().getType(), "dx", x, "x")));
}

SmallVector<LoopAxis> RmsNormOp::getLoopAxes() { return withKind(defaultLoopAxes(*this), getAxisAttr(), LoopKind::Internal); }
SmallVector<LoopAxis> RmsNormGradOp::getLoopAxes() { return withKind(defaultLoopAxes(*this), getAxisAttr(), LoopKind::Internal); }
double RmsNormOp::getFlops() { return 4 * loopVolume(*this); }
double RmsNormGradOp::getFlops() { return 10 * loopVolume(*this); }

SmallVector<Value> RmsNormOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  if (!gradients[0] || gradients[1]) {
    emitOpError() << "no gradient flows through the deviation";
    return {};
  }
  auto grad = RmsNormGradOp::create(builder, getLoc(), TypeRange{getX().getType(), getGamma().getType()}, getX(), getGamma(), getRstd(),
                                    gradients[0], getAxisAttr());
  return {grad.getDx(), grad.getDgamma()};
}

LogicalResult SoftmaxOp::verify() {
  Type x = getX().getType();
  return failure(failed(requireSameElement(*this, {x, getType()})) || failed(requireAxis(*this, x, "the operand", getAxisAttr())) ||
                 failed(requireSameOrder(*this, getType(), "the result", x, "the operand")));
}
LogicalResult SoftmaxGradOp::verify() {
  Type y = getY().getType();
  return failure(failed(requireSameElement(*this, {y, getDy().getType(), getType()})) ||
                 failed(requireAxis(*this, y, "y", getAxisAttr())) || failed(requireSameOrder(*this, getType(), "the result", y, "y")) ||
                 failed(requireSameOrder(*this, getDy().getType(), "dy", y, "y")));
}
SmallVector<LoopAxis> SoftmaxOp::getLoopAxes() { return withKind(defaultLoopAxes(*this), getAxisAttr(), LoopKind::Internal); }
SmallVector<LoopAxis> SoftmaxGradOp::getLoopAxes() { return withKind(defaultLoopAxes(*this), getAxisAttr(), LoopKind::Internal); }
double SoftmaxOp::getFlops() { return 5 * loopVolume(*this); }
double SoftmaxGradOp::getFlops() { return 4 * loopVolume(*this); }

SmallVector<Value> SoftmaxOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {SoftmaxGradOp::create(builder, getLoc(), getX().getType(), getY(), gradients[0], getAxisAttr())};
}
