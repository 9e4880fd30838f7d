// Ops of @update: verifiers and loop axes.
#include "compiler/dialects/nn/base/Meaning.h"
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

constexpr double pi = 3.14159265358979324;

// The sum of a parameter's uses, in order.
LogicalResult CombineOp::lower(Lowering &lowering) {
  return lowering.map(*this, getOperands(), [](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar sum = in[0];
    for (Scalar use : in.slice(1, in.size() - 2)) // the last is the accumulator, unused
      sum = sum + use;
    return {sum};
  });
}

LogicalResult GradNormOp::lower(Lowering &lowering) {
  auto type = cast<RankedTensorType>(getSums().getType());
  return lowering.map(*this, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    Scalar sum = body.constant(0.0, type.getElementType());
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      sum = sum + body.extract(lowering.get(getSums()), {body.integer(i)});
    return {sqrt(sum)};
  });
}

LogicalResult ClipFactorOp::lower(Lowering &lowering) {
  double limit = getMaxNorm().convertToDouble();
  return lowering.map(*this, getNorm(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar factor = limit / (in[0] + 1e-6);
    return {minimum(factor, factor.like(1.0))};
  });
}

LogicalResult LearningRateOp::lower(Lowering &lowering) {
  double peak = getPeak().convertToDouble(), last = getFinal().convertToDouble();
  auto warmup = double(getWarmup()), steps = double(getSteps());
  return lowering.map(*this, getOperands(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar t = getCounted() ? in[0] : toFloat(body.step(), body.builder().getF64Type());
    Scalar rate = t.like(peak);
    if (getSchedule() != "constant") {
      // Progress from 0 at the end of the warm-up to 1 at `steps`.
      Scalar progress = minimum(maximum((t - warmup) / std::max(1.0, steps - warmup), t.like(0.0)), t.like(1.0));
      Scalar left = getSchedule() == "cosine" ? 0.5 * (1.0 + cos(progress * pi)) : 1.0 - progress;
      rate = last + (peak - last) * left;
    }
    if (warmup > 0)
      rate = select(less(t, t.like(warmup)), peak * (t + 1.0) / warmup, rate);
    return {rate};
  });
}

LogicalResult GateOp::lower(Lowering &lowering) {
  return lowering.map(*this, getOperands(), [](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    return {select(isFinite(in[1]), in[0], in[0].like(std::numeric_limits<double>::quiet_NaN()))};
  });
}

LogicalResult LossScaleOp::lower(Lowering &lowering) {
  auto interval = double(getInterval());
  return lowering.map(*this, getOperands(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar scale = in[0], streak = in[1] + 1.0, good = isFinite(in[3]), zero = scale.like(0.0), one = scale.like(1.0);
    Scalar grows = less(streak.like(interval - 0.5), streak);
    Scalar next = select(good, select(grows, scale * 2.0, scale), maximum(scale * 0.5, one));
    return {next, select(good, select(grows, zero, streak), zero), in[2] + select(good, one, zero)};
  });
}

LogicalResult BiasCorrectionsOp::lower(Lowering &lowering) {
  double beta1 = getBeta1().convertToDouble(), beta2 = getBeta2().convertToDouble();
  return lowering.map(*this, getOperands(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar t = (getCounted() ? in[0] : toFloat(body.step(), body.builder().getF64Type())) + 1.0;
    return {1.0 - pow(t.like(beta1), t), sqrt(1.0 - pow(t.like(beta2), t))};
  });
}

// torch.optim.AdamW: decoupled decay first, moments, then the step, whose scalars are in double.
LogicalResult AdamwOp::lower(Lowering &lowering) {
  double beta1 = getBeta1().convertToDouble(), beta2 = getBeta2().convertToDouble();
  double epsilon = getEpsilon().convertToDouble(), decay = getDecay().convertToDouble();
  return lowering.map(*this, getOperands(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    Type type = in[0].type();
    Scalar keep = convert(1.0 - in[5] * decay, type), size = convert(in[6], type);
    Scalar root = convert(in[7], type), factor = convert(in[4], type);
    Scalar g = in[1] * factor;
    Scalar m = in[2] + (g - in[2]) * (1.0 - beta1);
    Scalar v = in[3] * beta2 + g * g * (1.0 - beta2);
    Scalar w = in[0] * keep - size * (m / (sqrt(v) / root + epsilon));
    Scalar skipped = isNan(in[4]);
    return {select(skipped, in[0], w), select(skipped, in[2], m), select(skipped, in[3], v)};
  });
}

// torch.optim.SGD: the first velocity is the gradient, which zero momentum state gives too.
LogicalResult SgdOp::lower(Lowering &lowering) {
  double momentum = getMomentum().convertToDouble(), decay = getDecay().convertToDouble();
  bool hasVelocity = bool(getVelocity()), nesterov = getNesterov();
  return lowering.map(*this, getOperands(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
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
