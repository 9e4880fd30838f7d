// autodiff-update: optimizer states and @update, from the accumulators that autodiff-backward declared.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/LossTerms.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/OptimizerAttributes.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/passes/autodiff/Autodiff.h"
#include "compiler/passes/autodiff/Precision.h"
#include "engine/program/Words.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace npar::compiler {

using namespace mlir;
using namespace nn;

#define GEN_PASS_DEF_AUTODIFFUPDATE
#include "compiler/passes/autodiff/Passes.h.inc"

namespace {

/// A parameter with what its update needs.
struct Trained {
  VariableOp parameter;
  SmallVector<VariableOp> accumulators; ///< one per use, in order
  SmallVector<AtAttr> places;           ///< places of the uses
  Value gradient;                       ///< combined
};

struct AutodiffUpdate : impl::AutodiffUpdateBase<AutodiffUpdate> {
  void runOnOperation() override {
    micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    FailureOr<std::vector<dsl::Optimizer>> found = optimizersOf(getOperation());
    if (failed(found) || !micro) // the backward pass has refused a module without it
      return signalPassFailure();
    optimizers = std::move(*found);
    precision = Precision(getOperation());
    collect();
    OpBuilder atEnd = OpBuilder::atBlockEnd(getOperation().getBody());
    auto update = func::FuncOp::create(atEnd, getOperation().getLoc(), "update", atEnd.getFunctionType({}, {}));
    OpBuilder builder = OpBuilder::atBlockBegin(update.addEntryBlock());
    build(builder);
    func::ReturnOp::create(builder, getOperation().getLoc());
    if (precision.roundsSums())
      attributes::roundedSums.set(getOperation());
    for (attributes::Name consumed :
         std::initializer_list<attributes::Name>{attributes::optimizers, attributes::clip, attributes::precision, attributes::losses})
      consumed.remove(getOperation());
  }

  func::FuncOp micro;
  std::vector<dsl::Optimizer> optimizers;
  Precision precision;
  Value counted;                                   ///< steps that were not skipped; null where none is
  SmallVector<std::pair<VariableOp, Value>> atEnd; ///< written when everything has used the old values
  SmallVector<Trained> trained;                    // in order of the parameters
  SmallVector<Value> rates;                        ///< learning rates, by the numbers of the optimizers; null until one is needed
  std::vector<int> rateWords;                      ///< of the learning rates, see wordsOfRates
  llvm::DenseMap<std::pair<Value, Attribute>, Value> scaledRates; ///< learning rates times factors
  /// Values of a step by the number of the optimizer and the factor of the learning rate.
  std::map<std::pair<size_t, double>, SmallVector<Value>> stepValues;

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
    rates.resize(optimizers.size());
    std::vector<dsl::LearningRate> declared;
    for (const dsl::Optimizer &optimizer : optimizers)
      declared.push_back(optimizer.rate);
    rateWords = wordsOfRates(declared);
    output(builder, "#out.lr", rateOf(builder, 0), {});
    OpBuilder outside(micro);
    for (Trained &each : trained)
      buildUpdate(builder, outside, each, factor);
    renewStates(builder, factor);
    for (auto [variable, value] : atEnd)
      write(builder, variable, value, {});
  }

  /// Moves the model's own formulas here. They read states as they were in the step's forward passes; a step that does not count leaves
  /// states as they are.
  void renewStates(OpBuilder &builder, Value factor) {
    auto renew = getOperation().lookupSymbol<func::FuncOp>("renew");
    if (!renew)
      return;
    SmallVector<WriteOp> writes;
    for (Operation &op : llvm::make_early_inc_range(renew.front().without_terminator())) {
      op.moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
      op.setAttr(ofWholeAttribute, builder.getUnitAttr());
      if (auto write = dyn_cast<WriteOp>(op); write && findVariable(getOperation(), write.getVariable()).getUntrained())
        writes.push_back(write);
    }
    renew.erase();
    for (WriteOp written : writes) {
      VariableOp state = findVariable(getOperation(), written.getVariable());
      Value old = read(builder, state, getAt(written));
      Value value = place(RenewOp::create(builder, written.getLoc(), state.getType(), old, written.getValue(), factor), getAt(written));
      write(builder, state, value, getAt(written));
      written.erase();
    }
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
    if (!attributes::groups.isOn(getOperation()))
      return normOf(squares({}));
    auto count = static_cast<int64_t>(attributes::groups.get(getOperation()).size());
    SmallVector<Value> parts;
    OpBuilder outside(micro);
    for (int64_t number = 0; number < count; ++number) {
      parts.push_back(squares(number));
      std::string name = "grad_norm." + std::to_string(number);
      VariableOp::create(outside, loc, "#out." + name, scalar, VariableKind::Output).setOutput(name);
      output(builder, "#out." + name, normOf(parts.back()), {});
    }
    return normOf(place(CombineOp::create(builder, loc, vector, parts), {})); // sums in bins are exact: the bits are those without groups
  }

  /// Reads the sum of a term of the loss; `at` becomes the place of its last part.
  Value sumOf(OpBuilder &builder, const LossTerm &term, AtAttr &at) {
    Value sum;
    for (int64_t part = 0; part < term.parts; ++part) {
      VariableOp variable = findVariable(getOperation(), term.sum(part));
      for (auto accumulate : micro.getOps<AccumulateOp>())
        if (accumulate.getVariable() == term.sum(part))
          at = getAt(accumulate);
      Value value = read(builder, variable, at);
      sum = sum ? place(AddOp::create(builder, variable.getLoc(), value.getType(), sum, value), at).getResult() : value;
    }
    return sum;
  }

  /// Builds the outputs of a step: the mean of each loss that has a name, and the weighted sum of all.
  void buildLoss(OpBuilder &builder) {
    Value loss;
    AtAttr lossAt;
    for (const LossTerm &term : lossTerms(getOperation())) {
      auto sum = findVariable(getOperation(), term.sum());
      if (!sum)
        continue;
      AtAttr at;
      Value mean = sumOf(builder, term, at);
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
    if (std::optional<double> clip = attributes::clip.get(getOperation()))
      return place(ClipFactorOp::create(builder, loc, norm.getType(), norm, builder.getF64FloatAttr(*clip)), {});
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
    atEnd.append({{findVariable(getOperation(), Precision::symbolOf(Precision::lossScale)), next.getNewScale()},
                  {streak, next.getNewStreak()},
                  {steps, next.getNewCounted()}});
  }

  /// The optimizer moves the parameter itself, or the float32 master of a 16-bit parameter.
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

  VariableOp state(OpBuilder &outside, VariableOp parameter, StringRef slot, double initial = 0) {
    Type type = withElement(parameter.getType(), widened(parameter.getType()));
    auto variable = VariableOp::create(outside, parameter.getLoc(), (pathOf(parameter) + "." + slot).str(), type, VariableKind::State);
    variable.setOf(pathOf(parameter));
    variable.setSlot(slot);
    if (initial != 0)
      variable.setInitAttr(InitAttr::get(&getContext(), InitKind::Constant, initial));
    return variable;
  }

  /// The learning rate of an optimizer: those with the same schedule share it.
  Value rateOf(OpBuilder &builder, size_t number) {
    const dsl::LearningRate &rate = optimizers[number].rate;
    for (size_t other = 0; other < number && !rates[number]; ++other)
      if (optimizers[other].rate == rate)
        rates[number] = rates[other];
    if (!rates[number]) {
      const int word = rateWords[number];
      auto steps = [&](const dsl::Length &length) { // the run's words replace it where it is none
        return builder.getI64IntegerAttr(length.isInSteps() ? static_cast<int64_t>(length.count) : 1);
      };
      rates[number] = place(LearningRateOp::create(builder, getOperation().getLoc(), scalarOf(builder.getF64Type()), counted,
                                                   builder.getStringAttr(program::wordOf(rate.kind)), builder.getF64FloatAttr(rate.peak),
                                                   steps(rate.warmup), steps(rate.steps), builder.getF64FloatAttr(rate.final),
                                                   builder.getF64FloatAttr(rate.factor), steps(rate.every),
                                                   word < 0 ? IntegerAttr() : builder.getI64IntegerAttr(word)),
                            {});
    }
    return rates[number];
  }

  /// The values of a step that the updates of one optimizer with one factor of the learning rate need.
  ArrayRef<Value> stepValuesOf(OpBuilder &builder, OpBuilder &outside, size_t number, FloatAttr rateFactor, Value factor) {
    const dsl::Optimizer &optimizer = optimizers[number];
    auto [found, isNew] = stepValues.insert({{number, rateFactor ? rateFactor.getValueAsDouble() : 1}, {}});
    SmallVector<Value> &values = found->second;
    if (!isNew || optimizer.step.results.empty())
      return values;
    Location loc = getOperation().getLoc();
    Value rate = rateOf(builder, number);
    if (rateFactor) {
      Value &scaled = scaledRates[{rate, rateFactor}];
      if (!scaled)
        scaled = place(ScaleOp::create(builder, loc, rate.getType(), rate, rateFactor), {});
      rate = scaled;
    }
    if (optimizer.step.results == std::vector<std::string>{"lr"}) {
      values = {rate};
      return values;
    }
    SmallVector<StringRef> names{StepValuesOp::rate};
    SmallVector<Value> inputs{rate};
    auto add = [&](StringRef name, Value value) { names.push_back(name), inputs.push_back(value); };
    if (counted)
      add(StepValuesOp::counted, counted);
    if (!optimizer.stepStates.empty())
      add(StepValuesOp::factor, factor);
    SmallVector<VariableOp> states;
    bool isFirst = llvm::none_of(stepValues, [&](const auto &each) { return each.first.first == number && &each.second != &values; });
    for (const dsl::OptimizerState &declared : optimizer.stepStates) {
      states.push_back(stepState(outside, declared, number));
      add(declared.name, read(builder, states.back(), {}));
    }
    SmallVector<Type> types(optimizer.step.results.size(), rate.getType());
    auto op = place(StepValuesOp::create(builder, loc, types, inputs, builder.getStrArrayAttr(names),
                                         textsAttr(builder, optimizer.step.definitions), textsAttr(builder, optimizer.step.results)),
                    {});
    llvm::append_range(values, op.getValues().drop_back(states.size()));
    if (isFirst) // what a state becomes does not depend on the factor
      for (auto [state, value] : llvm::zip(states, op.getValues().take_back(states.size())))
        atEnd.push_back({state, value});
    return values;
  }

  /// One number for all parameters of an optimizer, under a name that no parameter has.
  VariableOp stepState(OpBuilder &outside, const dsl::OptimizerState &declared, size_t number) {
    std::string slot = number == 0 ? declared.slot : declared.slot + "." + std::to_string(number), symbol = Precision::symbolOf(slot);
    if (auto existing = findVariable(getOperation(), symbol))
      return existing;
    auto variable = VariableOp::create(outside, getOperation().getLoc(), symbol, scalarOf(outside.getF64Type()), VariableKind::State);
    variable.setSlot(slot);
    if (declared.initial != 0)
      variable.setInitAttr(InitAttr::get(&getContext(), InitKind::Constant, declared.initial));
    return variable;
  }

  void buildUpdate(OpBuilder &builder, OpBuilder &outside, Trained &each, Value factor) {
    AtAttr at = each.places.front();
    size_t number = each.parameter.getOptimizer().value_or(0);
    if (number >= optimizers.size()) {
      each.parameter.emitError() << "asks for optimizer " << number << " of " << optimizers.size();
      return signalPassFailure();
    }
    const dsl::Optimizer &optimizer = optimizers[number];
    VariableOp trained = trainedVariable(outside, each);
    Value w = read(builder, trained, at);
    SmallVector<StringRef> names{optimizer.weight, optimizer.gradient};
    SmallVector<VariableOp> states;
    SmallVector<Value> others;
    for (const dsl::OptimizerState &declared : optimizer.states) {
      states.push_back(state(outside, each.parameter, declared.slot, declared.initial));
      others.push_back(read(builder, states.back(), at));
      names.push_back(declared.name);
    }
    ArrayRef<Value> perStep = stepValuesOf(builder, outside, number, each.parameter.getRateAttr(), factor);
    SmallVector<std::string> numbers;
    for (size_t i = 0; i < perStep.size(); ++i)
      numbers.push_back("$" + std::to_string(i));
    llvm::append_range(names, numbers);
    llvm::append_range(others, perStep);
    auto step = place(OptimizeOp::create(builder, each.parameter.getLoc(), w.getType(), SmallVector<Type>(states.size(), w.getType()), w,
                                         each.gradient, factor, others, builder.getStrArrayAttr(names),
                                         textsAttr(builder, optimizer.element.definitions), textsAttr(builder, optimizer.element.results)),
                      at);
    writeTrained(builder, each, trained, step.getNewW(), at);
    for (auto [state, value] : llvm::zip(states, step.getNewStates()))
      write(builder, state, value, at);
  }
};
} // namespace

std::unique_ptr<Pass> createAutodiffUpdatePass() { return std::make_unique<AutodiffUpdate>(); }

} // namespace npar::compiler
