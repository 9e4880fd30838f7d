// Elementwise prims: arithmetic, activations and their gradients, constants, conversion.
#include "compiler/codegen/lowering/Lowering.h"

using namespace mlir;

namespace npar::codegen {

namespace {
using Unary = Scalar (*)(Scalar);
using Binary = Scalar (*)(Scalar, Scalar);

template <typename Op, Unary formula> LogicalResult unary(Op op, Lowering &lowering) {
  return lowering.map(op, op->getOperands(), [](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {formula(in[0])}; });
}
template <typename Op, Binary formula> LogicalResult binary(Op op, Lowering &lowering) {
  return lowering.map(op, op->getOperands(), [](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {formula(in[0], in[1])}; });
}

Scalar add(Scalar a, Scalar b) { return a + b; }
Scalar sub(Scalar a, Scalar b) { return a - b; }
Scalar mul(Scalar a, Scalar b) { return a * b; }
Scalar div(Scalar a, Scalar b) { return a / b; }
Scalar same(Scalar x) { return x; }
Scalar rsqrt(Scalar x) { return x.like(1.0) / sqrt(x); }
Scalar relu(Scalar x) { return maximum(x, x.like(0.0)); }
Scalar reluGrad(Scalar x, Scalar dy) { return select(greater(x, x.like(0.0)), dy, dy.like(0.0)); }
Scalar tanhGrad(Scalar y, Scalar dy) { return dy * (1.0 - y * y); }

Scalar silu(Scalar x) { return x / (1.0 + exp(0.0 - x)); }
// s (1 + x (1 - s)) with the logistic function s.
Scalar siluGrad(Scalar x, Scalar dy) {
  Scalar s = 1.0 / (1.0 + exp(0.0 - x));
  return dy * (s * fma(x, 1.0 - s, x.like(1.0)));
}

constexpr double sqrtHalf = 0.70710678118654752, sqrt2OverPi = 0.79788456080286536, gaussian = 0.39894228040143268; // 1 / sqrt(2 pi)

// x Phi(x), exact or GPT-2's approximation.
Scalar gelu(Scalar x, bool byTanh) {
  if (!byTanh)
    return 0.5 * x * (1.0 + erf(x * sqrtHalf));
  Scalar u = sqrt2OverPi * (x * fma(x * x, x.like(0.044715), x.like(1.0)));
  return 0.5 * x * (1.0 + tanh(u));
}

Scalar geluGrad(Scalar x, Scalar dy, bool byTanh) {
  if (!byTanh)
    return dy * fma(x * gaussian, exp(-0.5 * (x * x)), 0.5 * (1.0 + erf(x * sqrtHalf)));
  Scalar square = x * x;
  Scalar t = tanh(sqrt2OverPi * (x * fma(square, x.like(0.044715), x.like(1.0))));
  Scalar slope = sqrt2OverPi * fma(square, x.like(3 * 0.044715), x.like(1.0));
  return dy * fma(0.5 * x * (1.0 - t * t), slope, 0.5 * (1.0 + t));
}

LogicalResult lowerGelu(nn::GeluOp op, Lowering &lowering) {
  bool byTanh = op.getApproximate() == "tanh";
  return lowering.map(op, op.getX(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {gelu(in[0], byTanh)}; });
}

LogicalResult lowerGeluGrad(nn::GeluGradOp op, Lowering &lowering) {
  bool byTanh = op.getApproximate() == "tanh";
  return lowering.map(op, op->getOperands(),
                      [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {geluGrad(in[0], in[1], byTanh)}; });
}

LogicalResult lowerScale(nn::ScaleOp op, Lowering &lowering) {
  double factor = op.getFactor().convertToDouble();
  return lowering.map(op, op.getX(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {in[0] * factor}; });
}

LogicalResult lowerShift(nn::ShiftOp op, Lowering &lowering) {
  double value = op.getValue().convertToDouble();
  return lowering.map(op, op.getX(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {in[0] + value}; });
}

LogicalResult lowerConvert(nn::ConvertOp op, Lowering &lowering) {
  Type element = getElementTypeOrSelf(op.getType());
  return lowering.map(op, op->getOperands(),
                      [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {convert(in[0], element)}; });
}

LogicalResult lowerFill(nn::FillOp op, Lowering &lowering) {
  return lowering.map(op, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    return {body.constant(op.getValue().convertToDouble(), computeType(op.getType()))};
  });
}

// The sum of a parameter's uses, in order.
LogicalResult lowerCombine(nn::CombineOp op, Lowering &lowering) {
  return lowering.map(op, op->getOperands(), [](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar sum = in[0];
    for (Scalar use : in.slice(1, in.size() - 2)) // the last is the accumulator, unused
      sum = sum + use;
    return {sum};
  });
}
} // namespace

void attachElementwise(MLIRContext *context) {
#define NPAR_LOWER(Op, ...) nn::Op::attachInterface<LoweredBy<nn::Op, __VA_ARGS__>>(*context)
  NPAR_LOWER(AddOp, binary<nn::AddOp, add>);
  NPAR_LOWER(SubOp, binary<nn::SubOp, sub>);
  NPAR_LOWER(MulOp, binary<nn::MulOp, mul>);
  NPAR_LOWER(DivOp, binary<nn::DivOp, div>);
  NPAR_LOWER(Max2Op, binary<nn::Max2Op, maximum>);
  NPAR_LOWER(ExpOp, unary<nn::ExpOp, exp>);
  NPAR_LOWER(LogOp, unary<nn::LogOp, log>);
  NPAR_LOWER(RsqrtOp, unary<nn::RsqrtOp, rsqrt>);
  NPAR_LOWER(TanhOp, unary<nn::TanhOp, tanh>);
  NPAR_LOWER(ReluOp, unary<nn::ReluOp, relu>);
  NPAR_LOWER(SiluOp, unary<nn::SiluOp, silu>);
  NPAR_LOWER(SiluGradOp, binary<nn::SiluGradOp, siluGrad>);
  NPAR_LOWER(ReluGradOp, binary<nn::ReluGradOp, reluGrad>);
  NPAR_LOWER(TanhGradOp, binary<nn::TanhGradOp, tanhGrad>);
  NPAR_LOWER(BroadcastOp, unary<nn::BroadcastOp, same>);
  NPAR_LOWER(GeluOp, lowerGelu);
  NPAR_LOWER(GeluGradOp, lowerGeluGrad);
  NPAR_LOWER(ScaleOp, lowerScale);
  NPAR_LOWER(ShiftOp, lowerShift);
  NPAR_LOWER(ConvertOp, lowerConvert);
  NPAR_LOWER(FillOp, lowerFill);
  NPAR_LOWER(CombineOp, lowerCombine);
#undef NPAR_LOWER
}

} // namespace npar::codegen
