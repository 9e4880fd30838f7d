// {name = "AdamW", rate = {...}, states = [{...}], weight = "w", gradient = "g", step = {...}, element = {...}}
#include "compiler/dialects/nn/OptimizerAttributes.h"

#include "compiler/attributes/ModuleAttributes.h"

using namespace mlir;

namespace npar::nn {
namespace {

constexpr std::pair<dsl::ScheduleKind, const char *> schedules[] = {{dsl::ScheduleKind::Constant, "constant"},
                                                                    {dsl::ScheduleKind::Linear, "linear"},
                                                                    {dsl::ScheduleKind::Cosine, "cosine"},
                                                                    {dsl::ScheduleKind::Step, "step"},
                                                                    {dsl::ScheduleKind::Exponential, "exponential"}};

class Writer {
public:
  explicit Writer(MLIRContext *context) : builder(context) {}

  Attribute write(const dsl::Optimizer &optimizer) {
    const dsl::LearningRate &rate = optimizer.rate;
    SmallVector<NamedAttribute> rates = {named("schedule", builder.getStringAttr(scheduleWord(rate.kind))),
                                         named("peak", number(rate.peak)), named("final", number(rate.final)),
                                         named("warmup", builder.getI64IntegerAttr(rate.warmup)),
                                         named("steps", builder.getI64IntegerAttr(rate.steps))};
    if (rate.hasFactor())
      rates.append({named("factor", number(rate.factor)), named("every", builder.getI64IntegerAttr(rate.every))});
    return builder.getDictionaryAttr({named("name", builder.getStringAttr(optimizer.name)), named("rate", builder.getDictionaryAttr(rates)),
                                      named("states", states(optimizer.states)), named("step_states", states(optimizer.stepStates)),
                                      named("weight", builder.getStringAttr(optimizer.weight)),
                                      named("gradient", builder.getStringAttr(optimizer.gradient)), named("step", formulas(optimizer.step)),
                                      named("element", formulas(optimizer.element))});
  }

private:
  NamedAttribute named(StringRef name, Attribute value) { return builder.getNamedAttr(name, value); }
  Attribute number(double value) { return builder.getF64FloatAttr(value); }
  Attribute formulas(const dsl::Formulas &some) {
    return builder.getDictionaryAttr(
        {named("definitions", textsAttr(builder, some.definitions)), named("results", textsAttr(builder, some.results))});
  }
  Attribute states(const std::vector<dsl::OptimizerState> &list) {
    SmallVector<Attribute> attributes;
    for (const dsl::OptimizerState &state : list)
      attributes.push_back(
          builder.getDictionaryAttr({named("name", builder.getStringAttr(state.name)), named("slot", builder.getStringAttr(state.slot)),
                                     named("initial", number(state.initial))}));
    return builder.getArrayAttr(attributes);
  }

  Builder builder;
};

/// Reads what Writer writes. `good` is false once something was missing or of another type.
class Reader {
public:
  bool good = true;

  dsl::Optimizer read(DictionaryAttr from) {
    dsl::Optimizer result;
    result.name = text(from, "name");
    if (auto rate = get<DictionaryAttr>(from, "rate")) {
      std::string word = text(rate, "schedule");
      bool isKnown = false;
      for (const auto &[kind, name] : schedules)
        if (word == name)
          result.rate.kind = kind, isKnown = true;
      good &= isKnown;
      result.rate.peak = number(rate, "peak");
      result.rate.final = number(rate, "final");
      result.rate.warmup = integer(rate, "warmup");
      result.rate.steps = integer(rate, "steps");
      if (result.rate.hasFactor()) {
        result.rate.factor = number(rate, "factor");
        result.rate.every = integer(rate, "every");
      }
    }
    result.states = states(from, "states");
    result.stepStates = states(from, "step_states");
    result.weight = text(from, "weight");
    result.gradient = text(from, "gradient");
    result.step = formulas(from, "step");
    result.element = formulas(from, "element");
    return result;
  }

private:
  template <typename T> T get(DictionaryAttr from, StringRef key) {
    T found = from.getAs<T>(key);
    good &= bool(found);
    return found;
  }
  std::string text(DictionaryAttr from, StringRef key) {
    auto found = get<StringAttr>(from, key);
    return found ? found.getValue().str() : "";
  }
  double number(DictionaryAttr from, StringRef key) {
    auto found = get<FloatAttr>(from, key);
    return found ? found.getValueAsDouble() : 0;
  }
  int64_t integer(DictionaryAttr from, StringRef key) {
    auto found = get<IntegerAttr>(from, key);
    return found ? found.getInt() : 0;
  }
  std::vector<std::string> texts(DictionaryAttr from, StringRef key) {
    std::vector<std::string> result;
    if (auto list = get<ArrayAttr>(from, key))
      for (Attribute each : list) {
        auto text = dyn_cast<StringAttr>(each);
        good &= bool(text);
        result.push_back(text ? text.getValue().str() : "");
      }
    return result;
  }
  dsl::Formulas formulas(DictionaryAttr from, StringRef key) {
    auto some = get<DictionaryAttr>(from, key);
    return some ? dsl::Formulas{texts(some, "definitions"), texts(some, "results")} : dsl::Formulas{};
  }
  std::vector<dsl::OptimizerState> states(DictionaryAttr from, StringRef key) {
    std::vector<dsl::OptimizerState> result;
    if (auto list = get<ArrayAttr>(from, key))
      for (Attribute each : list) {
        auto state = dyn_cast<DictionaryAttr>(each);
        good &= bool(state);
        if (state)
          result.push_back({text(state, "name"), text(state, "slot"), number(state, "initial")});
      }
    return result;
  }
};

} // namespace

ArrayAttr textsAttr(Builder &builder, const std::vector<std::string> &list) {
  SmallVector<StringRef> references(list.begin(), list.end());
  return builder.getStrArrayAttr(references);
}

const char *scheduleWord(dsl::ScheduleKind kind) {
  return llvm::find_if(schedules, [&](const auto &each) { return each.first == kind; })->second;
}

void setOptimizers(ModuleOp module, ArrayRef<dsl::Optimizer> optimizers) {
  Writer writer(module.getContext());
  SmallVector<Attribute> list;
  for (const dsl::Optimizer &optimizer : optimizers)
    list.push_back(writer.write(optimizer));
  attributes::optimizers.set(module, list);
}

FailureOr<std::vector<dsl::Optimizer>> optimizersOf(ModuleOp module) {
  Reader reader;
  std::vector<dsl::Optimizer> result;
  for (Attribute each : attributes::optimizers.get(module)) {
    auto optimizer = dyn_cast<DictionaryAttr>(each);
    reader.good &= bool(optimizer);
    if (optimizer)
      result.push_back(reader.read(optimizer));
  }
  if (result.empty() || !reader.good)
    return module.emitError() << "the module needs the attribute '" << attributes::optimizers.str()
                              << "': a list of optimizers with all their fields";
  return result;
}

} // namespace npar::nn
