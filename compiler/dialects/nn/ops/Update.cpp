// Ops of @update: verifiers and loop axes.
#include "compiler/dialects/nn/base/Formula.h"
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Gradient.h"
#include "engine/program/RateWords.h"
#include "engine/program/Words.h"

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
  if (!program::valueOf<program::RateSchedule>(getSchedule()))
    return emitOpError() << "schedule must be one of " << program::wordsOf<program::RateSchedule>() << ", not \"" << getSchedule() << "\"";
  if (getEvery() < 1)
    return emitOpError() << "changes the rate every " << getEvery() << " steps, it must be at least 1";
  return success();
}

/// The texts of an attribute, for as long as the op exists.
static SmallVector<StringRef> textsOf(ArrayAttr list) {
  return llvm::to_vector(llvm::map_range(list, [](Attribute each) { return cast<StringAttr>(each).getValue(); }));
}

static FailureOr<Formula> formulaOf(StepValuesOp op) {
  SmallVector<StringRef> names = textsOf(op.getNames());
  names.push_back(StepValuesOp::step);
  return Formula::parse(names, op.getDefinitions(), op.getFormulas(), [&] { return op.emitOpError(); });
}

size_t StepValuesOp::stateCount() {
  return static_cast<size_t>(
      llvm::count_if(textsOf(getNames()), [](StringRef name) { return name != rate && name != counted && name != factor; }));
}

LogicalResult StepValuesOp::verify() {
  if (getNames().size() != getInputs().size())
    return emitOpError() << "has " << getInputs().size() << " operands but " << getNames().size() << " names";
  if (getFormulas().size() != getValues().size() || getValues().size() < stateCount() || getValues().empty())
    return emitOpError() << "has " << getValues().size() << " results but " << getFormulas().size() << " formulas and " << stateCount()
                         << " step states";
  if (stateCount() > 0 && !llvm::is_contained(textsOf(getNames()), factor))
    return emitOpError() << "has step states but no '" << factor << "'";
  return success(succeeded(formulaOf(*this)));
}

static FailureOr<Formula> formulaOf(OptimizeOp op) {
  return Formula::parse(textsOf(op.getNames()), op.getDefinitions(), op.getFormulas(), [&] { return op.emitOpError(); });
}

LogicalResult OptimizeOp::verify() {
  Type w = getW().getType(), g = getG().getType();
  if (getNames().size() != 2 + getOthers().size())
    return emitOpError() << "has " << 2 + getOthers().size() << " operands besides the factor but " << getNames().size() << " names";
  if (getFormulas().size() != getNumResults() || getOthers().size() < getNewStates().size())
    return emitOpError() << "has " << getNumResults() << " results but " << getFormulas().size() << " formulas and " << getOthers().size()
                         << " operands of its own";
  if (isNarrow(w))
    return emitOpError() << "updates a parameter of type " << getElementTypeOrSelf(w) << ": needs its f32 master";
  if ((!isNarrow(g) && failed(requireSameElement(*this, {g, w}))) || failed(requireSameOrder(*this, g, "each tensor", w, "the parameter")))
    return failure();
  SmallVector<Value> like(getResults());
  llvm::append_range(like, getOthers().take_front(getNewStates().size()));
  for (Value value : like)
    if (failed(requireSameElement(*this, {value.getType(), w})) ||
        failed(requireSameOrder(*this, value.getType(), "each tensor", w, "the parameter")))
      return failure();
  return success(succeeded(formulaOf(*this)));
}

// Padding has zeros in weight, gradient and states, and anything in values of the step.
ZeroPadding OptimizeOp::getZeroPadding(StringAttr) {
  SmallVector<bool> zero(getNames().size(), false);
  std::fill_n(zero.begin(), 2 + getNewStates().size(), true);
  FailureOr<Formula> formula = formulaOf(*this);
  return succeeded(formula) && formula->isZeroWhere(zero) ? ZeroPadding::WhereOperandsAre : ZeroPadding::Unknown;
}

LogicalResult RenewOp::verify() {
  for (Type type : {getOld().getType(), getRenewed().getType()})
    if (failed(requireSameElement(*this, {type, getType()})) ||
        failed(requireSameOrder(*this, type, "each operand", getType(), "the result")))
      return failure();
  return success();
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
  const bool ofRun = getRun().has_value();
  return lowering.map(*this, getOperands(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar t = getCounted() ? in[0] : toFloat(body.step(), body.builder().getF64Type());
    auto length = [&](int64_t steps, program::RateWord word) {
      return ofRun ? body.runWord(*getRun() + static_cast<int64_t>(word)) : t.like(double(steps));
    };
    if (ofRun)
      t = t + length(0, program::RateWord::Offset);
    Scalar warmup = length(getWarmup(), program::RateWord::Warmup), steps = length(getSteps(), program::RateWord::Steps);
    Scalar rate = t.like(peak);
    if (getSchedule() == "step" || getSchedule() == "exponential") {
      Scalar times = maximum(t - warmup, t.like(0.0)) / length(getEvery(), program::RateWord::Every);
      if (ofRun && getSchedule() == "step") // an epoch need not be a whole number of steps: its end must not be missed by rounding
        times = times + 1e-9;
      if (getSchedule() == "step")
        times = toFloat(times.make<arith::FPToSIOp>(body.builder().getI64Type(), times), t.type());
      rate = peak * exp(times * std::log(getFactor().convertToDouble()));
    } else if (getSchedule() != "constant") {
      // Progress from 0 at the end of the warm-up to 1 at `steps`.
      Scalar progress = minimum(maximum((t - warmup) / maximum(steps - warmup, t.like(1.0)), t.like(0.0)), t.like(1.0));
      Scalar left = getSchedule() == "cosine" ? 0.5 * (1.0 + cos(progress * pi)) : 1.0 - progress;
      rate = last + (peak - last) * left;
    }
    if (ofRun || getWarmup() > 0)
      rate = select(less(t, warmup), peak * (t + 1.0) / (ofRun ? maximum(warmup, t.like(1.0)) : warmup), rate);
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

LogicalResult RenewOp::lower(Lowering &lowering) {
  return lowering.map(*this, getOperands(),
                      [](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {select(isNan(in[2]), in[0], in[1])}; });
}

LogicalResult StepValuesOp::lower(Lowering &lowering) {
  FailureOr<Formula> formula = formulaOf(*this);
  if (failed(formula))
    return failure();
  SmallVector<StringRef> names = textsOf(getNames());
  return lowering.map(*this, getInputs(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    auto find = [&](StringRef name) { return static_cast<size_t>(llvm::find(names, name) - names.begin()); };
    size_t skipped = find(factor), count = find(counted), inputs = names.size();
    SmallVector<Scalar> values(in.take_front(inputs));
    Type f64 = body.builder().getF64Type();
    values.push_back((count < inputs ? in[count] : toFloat(body.step(), f64)) + 1.0);
    SmallVector<Scalar> results = formula->build(values);
    for (size_t i = 0, states = stateCount(); i < states; ++i) {
      Scalar &result = results[results.size() - states + i];
      result = select(isNan(in[skipped]), in[inputs - states + i], result);
    }
    return results;
  });
}

LogicalResult OptimizeOp::lower(Lowering &lowering) {
  FailureOr<Formula> formula = formulaOf(*this);
  if (failed(formula))
    return failure();
  size_t states = getNewStates().size(), others = getOthers().size();
  return lowering.map(*this, getOperands(), [&](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    Type type = in[0].type();
    SmallVector<Scalar> values{in[0], in[1] * convert(in[2], type)};
    for (size_t i = 0; i < others; ++i)
      values.push_back(convert(in[3 + i], type));
    SmallVector<Scalar> results = formula->build(values);
    Scalar skipped = isNan(in[2]);
    for (size_t i = 0; i <= states; ++i)
      results[i] = select(skipped, i == 0 ? in[0] : in[2 + i], results[i]);
    return results;
  });
}
