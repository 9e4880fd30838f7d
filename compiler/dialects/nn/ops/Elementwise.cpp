// Elementwise ops: verifiers, gradients, meaning, folds.
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Chain.h"
#include "compiler/dialects/nn/ops/Gradient.h"
#include "mlir/IR/PatternMatch.h"

#include <cmath>

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Elementwise.cpp.inc"

void nn::addElementwise(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Elementwise.cpp.inc"
      >(dialect);
}

//===- Verifiers ---------------------------------------------------------------------------------------------------------===//

static LogicalResult verifyUnary(Operation *op) {
  Type x = op->getOperand(0).getType(), y = op->getResult(0).getType();
  return failure(failed(requireSameElement(op, {x, y})) || failed(requireSameOrder(op, y, "the result", x, "the operand")));
}
LogicalResult ScaleOp::verify() { return verifyUnary(*this); }
LogicalResult ShiftOp::verify() { return verifyUnary(*this); }
LogicalResult ExpOp::verify() { return verifyUnary(*this); }
LogicalResult LogOp::verify() { return verifyUnary(*this); }
LogicalResult RsqrtOp::verify() { return verifyUnary(*this); }
LogicalResult TanhOp::verify() { return verifyUnary(*this); }
LogicalResult ReluOp::verify() { return verifyUnary(*this); }
LogicalResult SiluOp::verify() { return verifyUnary(*this); }
LogicalResult ConvertOp::verify() { return requireSameOrder(*this, getType(), "the result", getX().getType(), "the operand"); }

static LogicalResult verifyApproximate(Operation *op, StringRef approximate) {
  if (approximate != "none" && approximate != "tanh")
    return op->emitOpError() << "approximate must be \"none\" or \"tanh\", not \"" << approximate << "\"";
  return success();
}
LogicalResult GeluOp::verify() { return failure(failed(verifyUnary(*this)) || failed(verifyApproximate(*this, getApproximate()))); }

static LogicalResult verifyGradient(Operation *op) {
  Type y = op->getResult(0).getType(), dy = op->getOperand(1).getType();
  return failure(failed(verifyUnary(op)) || failed(requireSameElement(op, {dy, y})) ||
                 failed(requireSameOrder(op, dy, "dy", y, "the result")));
}
LogicalResult ReluGradOp::verify() { return verifyGradient(*this); }
LogicalResult TanhGradOp::verify() { return verifyGradient(*this); }
LogicalResult SiluGradOp::verify() { return verifyGradient(*this); }
LogicalResult GeluGradOp::verify() { return failure(failed(verifyGradient(*this)) || failed(verifyApproximate(*this, getApproximate()))); }

static LogicalResult verifyBinary(Operation *op) {
  Type a = op->getOperand(0).getType(), b = op->getOperand(1).getType(), y = op->getResult(0).getType();
  if (failed(requireSameElement(op, {a, b, y})) || failed(requireWithin(op, a, "operand 0", y, "the result")) ||
      failed(requireWithin(op, b, "operand 1", y, "the result")))
    return failure();
  for (StringAttr name : axesOf(y))
    if (!hasAxis(a, name) && !hasAxis(b, name))
      return op->emitOpError() << "axis '" << name.getValue() << "' of the result appears in no operand";
  return success();
}
LogicalResult AddOp::verify() { return verifyBinary(*this); }
LogicalResult SubOp::verify() { return verifyBinary(*this); }
LogicalResult MulOp::verify() { return verifyBinary(*this); }
LogicalResult DivOp::verify() { return verifyBinary(*this); }
LogicalResult Max2Op::verify() { return verifyBinary(*this); }

static bool sameAxes(Value a, Value b) { return axesWithin(a.getType(), b.getType()) && axesWithin(b.getType(), a.getType()); }
bool AddOp::isLinear() { return sameAxes(getA(), getB()); }
bool SubOp::isLinear() { return sameAxes(getA(), getB()); }

/// A summand without the axis is added to the other one's zeros.
template <typename Op> static ZeroPadding zeroPaddingOfSum(Op op, StringAttr axis) {
  bool both = hasAxis(op.getA().getType(), axis) && hasAxis(op.getB().getType(), axis);
  return both ? ZeroPadding::WhereOperandsAre : ZeroPadding::Unknown;
}
ZeroPadding AddOp::getZeroPadding(StringAttr axis) { return zeroPaddingOfSum(*this, axis); }
ZeroPadding SubOp::getZeroPadding(StringAttr axis) { return zeroPaddingOfSum(*this, axis); }

static bool widens(ConvertOp op) { return isNarrow(op.getX().getType()) && !isNarrow(op.getType()); }
bool ConvertOp::isLinear() { return !widens(*this); }
Origin ConvertOp::getOrigin() { return widens(*this) ? Origin::Operand : Origin::Computed; }

//===- Gradients ---------------------------------------------------------------------------------------------------------===//

SmallVector<Value> ScaleOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {scaled(builder, getLoc(), gradients[0], getFactor().convertToDouble())};
}
SmallVector<Value> ShiftOp::buildGradients(OpBuilder &, ValueRange gradients) { return {gradients[0]}; }
SmallVector<Value> ExpOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {ChainOp::create(builder, getLoc(), getX().getType(), gradients[0], getResult())};
}
SmallVector<Value> LogOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {LogGradOp::create(builder, getLoc(), getX().getType(), gradients[0], getX())};
}
// y = x^(-1/2): dx = -1/2 dy y^3
SmallVector<Value> RsqrtOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Type type = getX().getType();
  Value square = MulOp::create(builder, getLoc(), type, getResult(), getResult());
  Value cube = MulOp::create(builder, getLoc(), type, square, getResult());
  return {scaled(builder, getLoc(), ChainOp::create(builder, getLoc(), type, gradients[0], cube), -0.5)};
}
SmallVector<Value> TanhOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {TanhGradOp::create(builder, getLoc(), getX().getType(), getResult(), gradients[0])};
}
SmallVector<Value> ReluOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {ReluGradOp::create(builder, getLoc(), getX().getType(), getX(), gradients[0])};
}
SmallVector<Value> GeluOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {GeluGradOp::create(builder, getLoc(), getX().getType(), getX(), gradients[0], getApproximateAttr())};
}
SmallVector<Value> SiluOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {SiluGradOp::create(builder, getLoc(), getX().getType(), getX(), gradients[0])};
}
SmallVector<Value> ConvertOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {ConvertOp::create(builder, getLoc(), getX().getType(), gradients[0])};
}
SmallVector<Value> AddOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {reduceTo(builder, getLoc(), gradients[0], getA().getType()), reduceTo(builder, getLoc(), gradients[0], getB().getType())};
}
SmallVector<Value> SubOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Value db = reduceTo(builder, getLoc(), gradients[0], getB().getType());
  return {reduceTo(builder, getLoc(), gradients[0], getA().getType()), scaled(builder, getLoc(), db, -1)};
}
SmallVector<Value> MulOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Value dy = gradients[0];
  auto side = [&](Value other, Type type) {
    return reduceTo(builder, getLoc(), ChainMulOp::create(builder, getLoc(), dy.getType(), dy, other), type);
  };
  Value da = side(getB(), getA().getType());
  return {da, side(getA(), getB().getType())};
}
// da = dy / b, db = -(dy / b) * y
SmallVector<Value> DivOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Type type = getType();
  Value da = reduceTo(builder, getLoc(), ChainDivOp::create(builder, getLoc(), type, gradients[0], getB()), getA().getType());
  Value product = DivGradOp::create(builder, getLoc(), type, gradients[0], getResult(), getB());
  return {da, scaled(builder, getLoc(), reduceTo(builder, getLoc(), product, getB().getType()), -1)};
}
// The gradient flows to a where a > b, elsewhere to b.
SmallVector<Value> Max2Op::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Type type = getType();
  Value difference = SubOp::create(builder, getLoc(), type, getA(), getB());
  Value toA = ReluGradOp::create(builder, getLoc(), type, difference, gradients[0]);
  Value toB = SubOp::create(builder, getLoc(), type, gradients[0], toA);
  return {reduceTo(builder, getLoc(), toA, getA().getType()), reduceTo(builder, getLoc(), toB, getB().getType())};
}

//===- Meaning -----------------------------------------------------------------------------------------------------------===//

static Scalar add(Scalar a, Scalar b) { return a + b; }
static Scalar sub(Scalar a, Scalar b) { return a - b; }
static Scalar mul(Scalar a, Scalar b) { return a * b; }
static Scalar div(Scalar a, Scalar b) { return a / b; }
static Scalar rsqrt(Scalar x) { return x.like(1.0) / sqrt(x); }
static Scalar relu(Scalar x) { return maximum(x, x.like(0.0)); }
static Scalar reluGrad(Scalar x, Scalar dy) { return select(greater(x, x.like(0.0)), dy, dy.like(0.0)); }

static Scalar tanhGrad(Scalar y, Scalar dy) { return chain(dy, 1.0 - y * y); }

static Scalar silu(Scalar x) { return x / (1.0 + exp(0.0 - x)); }
// s (1 + x (1 - s)) with the logistic function s.
static Scalar siluGrad(Scalar x, Scalar dy) {
  Scalar s = 1.0 / (1.0 + exp(0.0 - x));
  return chain(dy, s * fma(x, 1.0 - s, x.like(1.0)));
}

constexpr double sqrtHalf = 0.70710678118654752, sqrt2OverPi = 0.79788456080286536, gaussian = 0.39894228040143268; // 1 / sqrt(2 pi)

// GPT-2's approximation of GELU, 0.5 x (1 + tanh u) with u = sqrt(2 / pi) (x + 0.044715 x^3), written as x sigma(2u): one exponential that
// never overflows and no difference of nearly equal numbers where x is negative.
struct Sigmoid {
  Scalar value, slope; // sigma(2u), sigma (1 - sigma)
};
static Sigmoid tanhSigmoid(Scalar x) {
  Scalar u = sqrt2OverPi * (x * fma(x * x, x.like(0.044715), x.like(1.0)));
  Scalar e = exp(-2.0 * u.make<math::AbsFOp>(u));
  Scalar s = 1.0 / (1.0 + e), rest = e * s;
  return {select(greater(u, u.like(0.0)), s, rest), s * rest};
}

// x Phi(x), exact or approximated.
static Scalar gelu(Scalar x, bool byTanh) {
  if (!byTanh)
    return 0.5 * x * (1.0 + erf(x * sqrtHalf));
  return x * tanhSigmoid(x).value;
}

static Scalar geluGrad(Scalar x, Scalar dy, bool byTanh) {
  if (!byTanh)
    return chain(dy, fma(x * gaussian, exp(-0.5 * (x * x)), 0.5 * (1.0 + erf(x * sqrtHalf))));
  Sigmoid sigmoid = tanhSigmoid(x);
  Scalar rest = x * sigmoid.slope, twiceSlope = 2 * sqrt2OverPi * fma(x * x, x.like(3 * 0.044715), x.like(1.0));
  // The square can be infinite where the slope is 0.
  return chain(dy, select(isZero(rest), sigmoid.value, fma(rest, twiceSlope, sigmoid.value)));
}

LogicalResult AddOp::lower(Lowering &lowering) { return lowerBinary<add>(*this, lowering); }
LogicalResult SubOp::lower(Lowering &lowering) { return lowerBinary<sub>(*this, lowering); }
LogicalResult MulOp::lower(Lowering &lowering) { return lowerBinary<mul>(*this, lowering); }
LogicalResult DivOp::lower(Lowering &lowering) { return lowerBinary<div>(*this, lowering); }
LogicalResult Max2Op::lower(Lowering &lowering) { return lowerBinary<maximum>(*this, lowering); }
LogicalResult ExpOp::lower(Lowering &lowering) { return lowerUnary<exp>(*this, lowering); }
LogicalResult LogOp::lower(Lowering &lowering) { return lowerUnary<log>(*this, lowering); }
LogicalResult RsqrtOp::lower(Lowering &lowering) { return lowerUnary<rsqrt>(*this, lowering); }
LogicalResult TanhOp::lower(Lowering &lowering) { return lowerUnary<tanh>(*this, lowering); }
LogicalResult ReluOp::lower(Lowering &lowering) { return lowerUnary<relu>(*this, lowering); }
LogicalResult SiluOp::lower(Lowering &lowering) { return lowerUnary<silu>(*this, lowering); }
LogicalResult SiluGradOp::lower(Lowering &lowering) { return lowerBinary<siluGrad>(*this, lowering); }
LogicalResult ReluGradOp::lower(Lowering &lowering) { return lowerBinary<reluGrad>(*this, lowering); }
LogicalResult TanhGradOp::lower(Lowering &lowering) { return lowerBinary<tanhGrad>(*this, lowering); }

LogicalResult GeluOp::lower(Lowering &lowering) {
  bool byTanh = getApproximate() == "tanh";
  return lowering.map(*this, getX(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {gelu(in[0], byTanh)}; });
}

LogicalResult GeluGradOp::lower(Lowering &lowering) {
  bool byTanh = getApproximate() == "tanh";
  return lowering.map(*this, getOperands(),
                      [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {geluGrad(in[0], in[1], byTanh)}; });
}

LogicalResult ScaleOp::lower(Lowering &lowering) {
  double factor = getFactor().convertToDouble();
  return lowering.map(*this, getX(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {in[0] * factor}; });
}

LogicalResult ShiftOp::lower(Lowering &lowering) {
  double value = getValue().convertToDouble();
  return lowering.map(*this, getX(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {in[0] + value}; });
}

LogicalResult ConvertOp::lower(Lowering &lowering) {
  Type element = getElementTypeOrSelf(getType());
  return lowering.map(*this, getX(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {convert(in[0], element)}; });
}

//===- Folds -------------------------------------------------------------------------------------------------------------===//

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  return getFactor().isExactlyValue(1.0) && getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}
OpFoldResult ShiftOp::fold(FoldAdaptor) {
  return getValue().isZero() && getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}
OpFoldResult ConvertOp::fold(FoldAdaptor) { return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult(); }

// Replaces `op` by another op that keeps its place in the model.
template <typename New, typename... Args> static LogicalResult replaceWith(PatternRewriter &rewriter, Operation *op, Args &&...args) {
  DictionaryAttr discardable = op->getDiscardableAttrDictionary();
  auto created = rewriter.replaceOpWithNewOp<New>(op, op->getResult(0).getType(), std::forward<Args>(args)...);
  created->setDiscardableAttrs(discardable);
  return success();
}

void ScaleOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(+[](ScaleOp op, PatternRewriter &rewriter) -> LogicalResult {
    double factor = op.getFactor().convertToDouble();
    if (auto inner = op.getX().getDefiningOp<ScaleOp>()) {
      double innerFactor = inner.getFactor().convertToDouble();
      if (std::fabs(factor) != 1 && std::fabs(innerFactor) != 1) // the two are rounded one after the other, as the text says
        return failure();
      return replaceWith<ScaleOp>(rewriter, op, inner.getX(), rewriter.getF64FloatAttr(factor * innerFactor));
    }
    if (auto fill = op.getX().getDefiningOp<FillOp>())
      return replaceWith<FillOp>(rewriter, op, rewriter.getF64FloatAttr(factor * fill.getValue().convertToDouble()));
    return failure();
  });
}

void ShiftOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(+[](ShiftOp op, PatternRewriter &rewriter) -> LogicalResult {
    double value = op.getValue().convertToDouble();
    if (auto fill = op.getX().getDefiningOp<FillOp>())
      return replaceWith<FillOp>(rewriter, op, rewriter.getF64FloatAttr(value + fill.getValue().convertToDouble()));
    return failure();
  });
}

void ConvertOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(+[](ConvertOp op, PatternRewriter &rewriter) -> LogicalResult {
    auto fill = op.getX().getDefiningOp<FillOp>();
    return fill ? replaceWith<FillOp>(rewriter, op, fill.getValueAttr()) : failure();
  });
}

void AddOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(+[](AddOp op, PatternRewriter &rewriter) -> LogicalResult {
    auto isZero = [](Value value) {
      auto fill = value.getDefiningOp<FillOp>();
      return fill && fill.getValue().isZero();
    };
    for (auto [kept, other] : {std::pair(op.getA(), op.getB()), std::pair(op.getB(), op.getA())})
      if (isZero(other) && kept.getType() == op.getType()) {
        rewriter.replaceOp(op, kept);
        return success();
      }
    return failure();
  });
}
