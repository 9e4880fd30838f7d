// autodiff-update: optimizer states and @update, from the accumulators that autodiff-backward declared.
#include "compiler/dialects/nn/LossTerms.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/passes/autodiff/Autodiff.h"
#include "compiler/passes/autodiff/Precision.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace npar {

using namespace mlir;
using namespace nn;

#define GEN_PASS_DEF_AUTODIFFUPDATE
#include "compiler/passes/autodiff/Passes.h.inc"

namespace {

/// A parameter with what its update needs.
struct Trained {
  VariableOp parameter;
  SmallVector<VariableOp> accumulators; ///< one per use, in order
  SmallVector<AtAttr> places;           ///< of the uses
  Value gradient;                       ///< combined
};

struct AutodiffUpdate : impl::AutodiffUpdateBase<AutodiffUpdate> {
  void runOnOperation() override {
    micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    optimizer = getOperation()->getAttrOfType<DictionaryAttr>("nn.optimizer");
    rate = getOperation()->getAttrOfType<DictionaryAttr>("nn.rate");
    if (!micro || !optimizer || !rate) {
      getOperation().emitError("the module needs '@micro' and the attributes 'nn.optimizer' and 'nn.rate'");
      return signalPassFailure();
    }
    if (auto kind = optimizer.getAs<StringAttr>("kind"); !kind || (kind.getValue() != "adamw" && kind.getValue() != "sgd")) {
      getOperation().emitError("the optimizer must be of kind \"adamw\" or \"sgd\"");
      return signalPassFailure();
    }
    precision = Precision(getOperation());
    collect();
    OpBuilder atEnd = OpBuilder::atBlockEnd(getOperation().getBody());
    auto update = func::FuncOp::create(atEnd, getOperation().getLoc(), "update", atEnd.getFunctionType({}, {}));
    OpBuilder builder = OpBuilder::atBlockBegin(update.addEntryBlock());
    build(builder);
    func::ReturnOp::create(builder, getOperation().getLoc());
    if (precision.roundsSums())
      getOperation()->setAttr("dist.rounded_sums", builder.getUnitAttr());
    for (StringRef consumed : {"nn.optimizer", "nn.rate", "nn.clip", "nn.precision", lossesAttribute})
      getOperation()->removeAttr(consumed);
  }

  func::FuncOp micro;
  DictionaryAttr optimizer, rate;
  Precision precision;
  Value counted;                                      ///< steps that were not skipped; null where none is
  SmallVector<std::pair<VariableOp, Value>, 3> atEnd; ///< written when everything has used the old values
  SmallVector<Trained> trained;                       // in order of the parameters
  llvm::DenseMap<Attribute, Value> rates;             // learning rates, by their factors
  BiasCorrectionsOp corrections;                      // of AdamW
  llvm::DenseMap<Value, Value> stepSizes;             // of AdamW, by the learning rates

  void collect() {
    llvm::StringMap<AtAttr> places;
    AtAttr none = AtAttr::get(&getContext(), Phase::Update, "", -1);
    for (auto accumulate : micro.getOps<AccumulateOp>())
      places[accumulate.getVariable()] = getAt(accumulate) ? getAt(accumulate) : none;
    llvm::StringMap<size_t> numbers; // in `trained`
    for (auto variable : getOperation().getOps<VariableOp>()) {
      if (variable.isKind(VariableKind::Parameter)) {
        numbers[pathOf(variable)] = trained.size();
        trained.push_back({variable, {}, {}, {}});
      }
      if (!variable.isKind(VariableKind::Accumulator) || !variable.getOf())
        continue;
      if (auto number = numbers.find(*variable.getOf()); number != numbers.end()) {
        Trained &each = trained[number->second];
        each.accumulators.push_back(variable);
        each.places.push_back(places.lookup(pathOf(variable)));
      }
    }
    llvm::erase_if(trained, [](const Trained &each) { return each.accumulators.empty(); });
  }

  //===- Ops with a place ------------------------------------------------------------------------------------------------===//

  template <typename Op> Op place(Op op, AtAttr at) {
    setAt(op, Phase::Update, at ? at.getPath() : "", at ? at.getBlock() : -1);
    return op;
  }
  Value read(OpBuilder &builder, VariableOp variable, AtAttr at) {
    return place(ReadOp::create(builder, variable.getLoc(), variable.getType(), pathOf(variable)), at);
  }
  void write(OpBuilder &builder, VariableOp variable, Value value, AtAttr at) {
    place(WriteOp::create(builder, variable.getLoc(), pathOf(variable), value), at);
  }
  void output(OpBuilder &builder, StringRef name, Value value, AtAttr at) {
    if (auto variable = findVariable(getOperation(), name))
      write(builder, variable, value, at);
  }
  double number(DictionaryAttr from, StringRef key) {
    auto value = from.getAs<FloatAttr>(key);
    return value ? value.getValueAsDouble() : 0;
  }

  //===- The body of @update ----------------------------------------------------------------------------------------------===//

  void build(OpBuilder &builder) {
    buildLoss(builder);
    for (Trained &each : trained) {
      SmallVector<Value> uses;
      for (auto [accumulator, at] : llvm::zip(each.accumulators, each.places))
        uses.push_back(read(builder, accumulator, at));
      each.gradient = place(CombineOp::create(builder, each.parameter.getLoc(), uses.front().getType(), uses), each.places.front());
    }
    Location loc = getOperation().getLoc();
    Type scalar = scalarOf(builder.getF64Type());
    Value scale;
    Value norm = buildNorms(builder, scale);
    output(builder, "#out.grad_norm", norm, {});
    Value factor = clipFactor(builder, norm);
    if (scale) {
      nextScale(builder, scale, norm);
      factor = place(DivOp::create(builder, loc, scalar, factor, scale), {});
    }
    // The norm is a sum over all ranks and tells each of them whether any gradient anywhere is not finite: the squares of 16- and 32-bit
    // floats do not overflow float64. Then no rank moves anything.
    factor = place(GateOp::create(builder, loc, scalar, factor, norm), {});
    Value learningRate =
        place(LearningRateOp::create(builder, loc, scalar, counted, rate.getAs<StringAttr>("schedule"), rate.getAs<FloatAttr>("peak"),
                                     rate.getAs<IntegerAttr>("warmup"), rate.getAs<IntegerAttr>("steps"), rate.getAs<FloatAttr>("final")),
              {});
    output(builder, "#out.lr", learningRate, {});
    OpBuilder outside(micro);
    bool adamw = optimizer.getAs<StringAttr>("kind").getValue() == "adamw";
    if (adamw)
      corrections = place(BiasCorrectionsOp::create(builder, loc, TypeRange{scalar, scalar}, counted, ofOptimizer(builder, "beta1"),
                                                    ofOptimizer(builder, "beta2")),
                          {});
    for (Trained &each : trained)
      adamw ? buildAdamw(builder, outside, each, factor, learningRate) : buildSgd(builder, outside, each, factor, learningRate);
    for (auto [variable, value] : atEnd)
      write(builder, variable, value, {});
  }

  /// The gradients' norm, and that of each group of parameters into its output. Reads what gradients are scaled by into `scale`; null
  /// where they are not.
  Value buildNorms(OpBuilder &builder, Value &scale) {
    Location loc = getOperation().getLoc();
    Type f64 = builder.getF64Type(), scalar = scalarOf(f64);
    Type vector = withAxes(f64, {builder.getStringAttr("#bin")}, {SquareSumsOp::bins});
    auto squares = [&](std::optional<int64_t> of) -> Value {
      SmallVector<Value> gradients;
      SmallVector<int64_t> numbers;
      for (Trained &each : trained)
        if (!of || each.parameter.getGroup().value_or(0) == static_cast<uint64_t>(*of)) {
          gradients.push_back(each.gradient);
          numbers.push_back(*each.parameter.getIndex());
        }
      if (of && gradients.empty()) // the loss has no slope in any of them
        return place(FillOp::create(builder, loc, vector, builder.getF64FloatAttr(0)), {});
      return place(SquareSumsOp::create(builder, loc, vector, gradients, numbers), {});
    };
    auto normOf = [&](Value sums) {
      Value norm = place(GradNormOp::create(builder, loc, scalar, sums), {});
      if (precision.scalesLoss() && !scale)
        scale = read(builder, findVariable(getOperation(), Precision::symbolOf(Precision::lossScale)), {});
      return scale ? place(DivOp::create(builder, loc, scalar, norm, scale), {}).getResult() : norm;
    };
    auto groups = getOperation()->getAttrOfType<ArrayAttr>("npar.groups");
    if (!groups)
      return normOf(squares({}));
    SmallVector<Value> parts;
    OpBuilder outside(micro);
    for (int64_t number = 0, count = groups.size(); number < count; ++number) {
      parts.push_back(squares(number));
      std::string name = "grad_norm." + std::to_string(number);
      VariableOp::create(outside, loc, "#out." + name, scalar, VariableKind::Output).setOutput(name);
      output(builder, "#out." + name, normOf(parts.back()), {});
    }
    return normOf(place(CombineOp::create(builder, loc, vector, parts), {})); // sums in bins are exact: the bits are those without groups
  }

  /// What a step tells: the mean of each term that has a name, and their weighted sum.
  void buildLoss(OpBuilder &builder) {
    Value loss;
    AtAttr lossAt;
    for (const LossTerm &term : lossTerms(getOperation())) {
      auto sum = findVariable(getOperation(), term.sum());
      if (!sum)
        continue;
      AtAttr at;
      for (auto accumulate : micro.getOps<AccumulateOp>())
        if (accumulate.getVariable() == term.sum())
          at = getAt(accumulate);
      Value mean = read(builder, sum, at);
      Operation *before = mean.getDefiningOp();
      mean = perCounted(builder, sum.getLoc(), getOperation(), term, mean);
      Value weighted = mean;
      if (term.weight != 1)
        weighted = ScaleOp::create(builder, sum.getLoc(), mean.getType(), mean, builder.getF64FloatAttr(term.weight));
      loss = loss ? AddOp::create(builder, sum.getLoc(), mean.getType(), loss, weighted).getResult() : weighted;
      for (Operation *op = before->getNextNode(); op; op = op->getNextNode())
        place(op, at);
      if (!term.name.empty())
        output(builder, term.output(), mean, at);
      lossAt = at;
    }
    if (loss)
      output(builder, "#out.loss", loss, lossAt);
  }

  Value clipFactor(OpBuilder &builder, Value norm) {
    Location loc = getOperation().getLoc();
    if (auto clip = getOperation()->getAttrOfType<FloatAttr>("nn.clip"))
      return place(ClipFactorOp::create(builder, loc, norm.getType(), norm, clip), {});
    return place(FillOp::create(builder, loc, norm.getType(), builder.getF64FloatAttr(1)), {});
  }

  /// fp16 (RULES.md#N7): the scale of the next step's loss, and the number of steps that were not skipped.
  void nextScale(OpBuilder &builder, Value scale, Value norm) {
    Location loc = getOperation().getLoc();
    Type scalar = scale.getType();
    OpBuilder outside(micro);
    auto scalarState = [&](StringRef slot) {
      auto variable = VariableOp::create(outside, loc, Precision::symbolOf(slot), scalar, VariableKind::State);
      variable.setSlot(slot);
      return variable;
    };
    VariableOp streak = scalarState("good_streak"), steps = scalarState("good_steps");
    Value before = read(builder, streak, {});
    counted = read(builder, steps, {});
    auto next = place(LossScaleOp::create(builder, loc, TypeRange{scalar, scalar, scalar}, scale, before, counted, norm,
                                          builder.getI64IntegerAttr(Precision::growthInterval)),
                      {});
    auto variable = VariableOp::create(outside, loc, ("#out." + Precision::lossScale).str(), scalar, VariableKind::Output);
    variable.setOutput(Precision::lossScale);
    write(builder, variable, scale, {});
    atEnd = {{findVariable(getOperation(), Precision::symbolOf(Precision::lossScale)), next.getNewScale()},
             {streak, next.getNewStreak()},
             {steps, next.getNewCounted()}};
  }

  /// What the optimizer moves: the parameter itself, or where that is of 16 bits its float32 master.
  VariableOp trainedVariable(OpBuilder &outside, Trained &each) {
    return isNarrow(each.parameter.getType()) ? state(outside, each.parameter, "master") : each.parameter;
  }

  /// The optimizer's result; of a master its rounding goes to the parameter.
  void writeTrained(OpBuilder &builder, Trained &each, VariableOp variable, Value value, AtAttr at) {
    write(builder, variable, value, at);
    if (variable == each.parameter)
      return;
    Value rounded = place(ConvertOp::create(builder, each.parameter.getLoc(), each.parameter.getType(), value), at);
    write(builder, each.parameter, rounded, at);
  }

  VariableOp state(OpBuilder &outside, VariableOp parameter, StringRef slot) {
    Type type = parameter.getType();
    if (isNarrow(type))
      type = withElement(type, outside.getF32Type());
    auto variable = VariableOp::create(outside, parameter.getLoc(), (pathOf(parameter) + "." + slot).str(), type, VariableKind::State);
    variable.setOf(pathOf(parameter));
    variable.setSlot(slot);
    return variable;
  }

  FloatAttr ofOptimizer(OpBuilder &builder, StringRef key) { return builder.getF64FloatAttr(number(optimizer, key)); }
  FloatAttr decayOf(OpBuilder &builder, Trained &each) {
    std::optional<llvm::APFloat> own = each.parameter.getDecay();
    return own ? builder.getF64FloatAttr(own->convertToDouble()) : ofOptimizer(builder, "decay");
  }

  /// The learning rate of a parameter: one value for all of one factor.
  Value rateOf(OpBuilder &builder, Trained &each, Value learningRate) {
    FloatAttr factor = each.parameter.getRateAttr();
    if (!factor)
      return learningRate;
    Value &rate = rates[factor];
    if (!rate)
      rate = place(ScaleOp::create(builder, getOperation().getLoc(), learningRate.getType(), learningRate, factor), {});
    return rate;
  }

  /// One value for all of one learning rate.
  Value stepSizeOf(OpBuilder &builder, Value rate) {
    Value &size = stepSizes[rate];
    if (!size)
      size = place(DivOp::create(builder, getOperation().getLoc(), rate.getType(), rate, corrections.getMean()), {});
    return size;
  }

  void buildAdamw(OpBuilder &builder, OpBuilder &outside, Trained &each, Value factor, Value learningRate) {
    AtAttr at = each.places.front();
    VariableOp trained = trainedVariable(outside, each);
    VariableOp mean = state(outside, each.parameter, "exp_avg"), square = state(outside, each.parameter, "exp_avg_sq");
    Value w = read(builder, trained, at), m = read(builder, mean, at), v = read(builder, square, at);
    FloatAttr decay = decayOf(builder, each);
    learningRate = rateOf(builder, each, learningRate);
    Value size = stepSizeOf(builder, learningRate);
    auto step = place(AdamwOp::create(builder, each.parameter.getLoc(), TypeRange{w.getType(), w.getType(), w.getType()}, w, each.gradient,
                                      m, v, factor, learningRate, size, corrections.getRoot(), ofOptimizer(builder, "beta1"),
                                      ofOptimizer(builder, "beta2"), ofOptimizer(builder, "epsilon"), decay),
                      at);
    writeTrained(builder, each, trained, step.getNewW(), at);
    write(builder, mean, step.getNewM(), at);
    write(builder, square, step.getNewV(), at);
  }

  void buildSgd(OpBuilder &builder, OpBuilder &outside, Trained &each, Value factor, Value learningRate) {
    AtAttr at = each.places.front();
    double momentum = number(optimizer, "momentum");
    VariableOp trained = trainedVariable(outside, each), velocity;
    Value w = read(builder, trained, at), before;
    SmallVector<Type> results{w.getType()};
    if (momentum != 0) {
      velocity = state(outside, each.parameter, "momentum");
      before = read(builder, velocity, at);
      results.push_back(w.getType());
    }
    auto step = place(SgdOp::create(builder, each.parameter.getLoc(), results, w, each.gradient, before, factor,
                                    rateOf(builder, each, learningRate), builder.getF64FloatAttr(momentum), decayOf(builder, each),
                                    builder.getBoolAttr(false)),
                      at);
    writeTrained(builder, each, trained, step.getNewW(), at);
    if (velocity)
      write(builder, velocity, step.getNewVelocity(), at);
  }
};
} // namespace

std::unique_ptr<Pass> createAutodiffUpdatePass() { return std::make_unique<AutodiffUpdate>(); }

} // namespace npar
