// Prims of @update: squares, norm, clipping, learning rates and optimizers, with PyTorch's formulas.
#include "compiler/codegen/lowering/Lowering.h"

using namespace mlir;

namespace npar::codegen {

namespace {
constexpr double pi = 3.14159265358979324;

LogicalResult lowerGradNorm(nn::GradNormOp op, Lowering &lowering) {
  auto type = cast<RankedTensorType>(op.getSums().getType());
  return lowering.map(op, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    Scalar sum = body.constant(0.0, type.getElementType());
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      sum = sum + body.extract(lowering.get(op.getSums()), {body.integer(i)});
    return {sqrt(sum)};
  });
}

LogicalResult lowerClipFactor(nn::ClipFactorOp op, Lowering &lowering) {
  double limit = op.getMaxNorm().convertToDouble();
  return lowering.map(op, op->getOperands(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar factor = limit / (in[0] + 1e-6);
    return {minimum(factor, factor.like(1.0))};
  });
}

LogicalResult lowerLearningRate(nn::LearningRateOp op, Lowering &lowering) {
  double peak = op.getPeak().convertToDouble(), last = op.getFinal().convertToDouble();
  auto warmup = double(op.getWarmup()), steps = double(op.getSteps());
  return lowering.map(op, op->getOperands(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar t = op.getCounted() ? in[0] : toFloat(body.step(), body.builder().getF64Type());
    Scalar rate = t.like(peak);
    if (op.getSchedule() != "constant") {
      // Progress from 0 at the end of the warm-up to 1 at `steps`.
      Scalar progress = minimum(maximum((t - warmup) / std::max(1.0, steps - warmup), t.like(0.0)), t.like(1.0));
      Scalar left = op.getSchedule() == "cosine" ? 0.5 * (1.0 + cos(progress * pi)) : 1.0 - progress;
      rate = last + (peak - last) * left;
    }
    if (warmup > 0)
      rate = select(less(t, t.like(warmup)), peak * (t + 1.0) / warmup, rate);
    return {rate};
  });
}

LogicalResult lowerGate(nn::GateOp op, Lowering &lowering) {
  return lowering.map(op, op->getOperands(), [](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    return {select(isFinite(in[1]), in[0], in[0].like(std::numeric_limits<double>::quiet_NaN()))};
  });
}

LogicalResult lowerLossScale(nn::LossScaleOp op, Lowering &lowering) {
  auto interval = double(op.getInterval());
  return lowering.map(op, op->getOperands(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar scale = in[0], streak = in[1] + 1.0, good = isFinite(in[3]), zero = scale.like(0.0), one = scale.like(1.0);
    Scalar grows = less(streak.like(interval - 0.5), streak);
    Scalar next = select(good, select(grows, scale * 2.0, scale), maximum(scale * 0.5, one));
    return {next, select(good, select(grows, zero, streak), zero), in[2] + select(good, one, zero)};
  });
}

// torch.optim.AdamW: decoupled decay first, moments, then the step with bias corrections in double.
LogicalResult lowerAdamw(nn::AdamwOp op, Lowering &lowering) {
  double beta1 = op.getBeta1().convertToDouble(), beta2 = op.getBeta2().convertToDouble();
  double epsilon = op.getEpsilon().convertToDouble(), decay = op.getDecay().convertToDouble();
  return lowering.map(op, op->getOperands(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Type type = in[0].type();
    Scalar rate = in[5], t = (op.getCounted() ? in[6] : toFloat(body.step(), rate.type())) + 1.0;
    Scalar correction1 = 1.0 - pow(t.like(beta1), t), correction2 = sqrt(1.0 - pow(t.like(beta2), t));
    Scalar keep = convert(1.0 - rate * decay, type), size = convert(rate / correction1, type);
    Scalar root = convert(correction2, type), factor = convert(in[4], type);
    Scalar g = in[1] * factor;
    Scalar m = in[2] + (g - in[2]) * (1.0 - beta1);
    Scalar v = in[3] * beta2 + g * g * (1.0 - beta2);
    Scalar w = in[0] * keep - size * (m / (sqrt(v) / root + epsilon));
    Scalar skipped = isNan(in[4]);
    return {select(skipped, in[0], w), select(skipped, in[2], m), select(skipped, in[3], v)};
  });
}

// torch.optim.SGD: the first velocity is the gradient, which zero momentum state gives too.
LogicalResult lowerSgd(nn::SgdOp op, Lowering &lowering) {
  double momentum = op.getMomentum().convertToDouble(), decay = op.getDecay().convertToDouble();
  bool hasVelocity = bool(op.getVelocity()), nesterov = op.getNesterov();
  return lowering.map(op, op->getOperands(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    Type type = in[0].type();
    Scalar factor = convert(in[hasVelocity ? 3 : 2], type), rate = convert(in[hasVelocity ? 4 : 3], type);
    Scalar g = in[1] * factor;
    if (decay != 0)
      g = g + in[0] * decay;
    Scalar skipped = isNan(in[hasVelocity ? 3 : 2]);
    auto unlessSkipped = [&](Scalar old, Scalar value) { return select(skipped, old, value); };
    if (!hasVelocity)
      return {unlessSkipped(in[0], in[0] - rate * g)};
    Scalar velocity = in[2] * momentum + g;
    Scalar w = in[0] - rate * (nesterov ? g + velocity * momentum : velocity);
    return {unlessSkipped(in[0], w), unlessSkipped(in[2], velocity)};
  });
}
} // namespace

void attachUpdate(MLIRContext *context) {
  nn::GradNormOp::attachInterface<LoweredBy<nn::GradNormOp, lowerGradNorm>>(*context);
  nn::ClipFactorOp::attachInterface<LoweredBy<nn::ClipFactorOp, lowerClipFactor>>(*context);
  nn::LearningRateOp::attachInterface<LoweredBy<nn::LearningRateOp, lowerLearningRate>>(*context);
  nn::GateOp::attachInterface<LoweredBy<nn::GateOp, lowerGate>>(*context);
  nn::LossScaleOp::attachInterface<LoweredBy<nn::LossScaleOp, lowerLossScale>>(*context);
  nn::AdamwOp::attachInterface<LoweredBy<nn::AdamwOp, lowerAdamw>>(*context);
  nn::SgdOp::attachInterface<LoweredBy<nn::SgdOp, lowerSgd>>(*context);
}

} // namespace npar::codegen
