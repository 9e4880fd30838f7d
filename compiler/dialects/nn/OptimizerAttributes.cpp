// {name = "AdamW", rate = {schedule = "cosine", warmup = 10, steps = [4.0, "epochs"], ...}, states = [{...}], weight = "w", gradient = "g",
// step = {...}, element = {...}}
#include "compiler/dialects/nn/OptimizerAttributes.h"

#include "compiler/attributes/ModuleAttributes.h"
#include "engine/program/RateWords.h"
#include "engine/program/Words.h"

#include <utility>

using namespace mlir;

namespace npar::nn {
namespace {

class Writer {
public:
  explicit Writer(MLIRContext *context) : builder(context) {}

  Attribute write(const dsl::Optimizer &optimizer) {
    return builder.getDictionaryAttr({named("name", builder.getStringAttr(optimizer.name)), named("rate", write(optimizer.rate)),
                                      named("states", states(optimizer.states)), named("step_states", states(optimizer.stepStates)),
                                      named("weight", builder.getStringAttr(optimizer.weight)),
                                      named("gradient", builder.getStringAttr(optimizer.gradient)), named("step", formulas(optimizer.step)),
                                      named("element", formulas(optimizer.element))});
  }

  DictionaryAttr write(const dsl::LearningRate &rate) {
    SmallVector<NamedAttribute> rates = {named("schedule", builder.getStringAttr(program::wordOf(rate.kind))),
                                         named("peak", number(rate.peak)), named("final", number(rate.final)),
                                         named("warmup", length(rate.warmup)), named("steps", length(rate.steps))};
    if (rate.hasFactor())
      rates.append({named("factor", number(rate.factor)), named("every", length(rate.every))});
    if (rate.scaled)
      rates.append({named("scaled", number(rate.scaled->rate)), named("per", number(rate.scaled->per))});
    return builder.getDictionaryAttr(rates);
  }

private:
  NamedAttribute named(StringRef name, Attribute value) { return builder.getNamedAttr(name, value); }
  Attribute number(double value) { return builder.getF64FloatAttr(value); }
  /// 100 steps; or [0.1, "epochs"].
  Attribute length(const dsl::Length &value) {
    if (value.isInSteps())
      return builder.getI64IntegerAttr(static_cast<int64_t>(value.count));
    return builder.getArrayAttr({number(value.count), builder.getStringAttr(program::wordOf(value.unit))});
  }
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
    if (auto rate = get<DictionaryAttr>(from, "rate"))
      result.rate = readRate(rate);
    result.states = states(from, "states");
    result.stepStates = states(from, "step_states");
    result.weight = text(from, "weight");
    result.gradient = text(from, "gradient");
    result.step = formulas(from, "step");
    result.element = formulas(from, "element");
    return result;
  }

  dsl::LearningRate readRate(DictionaryAttr from) {
    dsl::LearningRate rate;
    std::optional<dsl::ScheduleKind> kind = program::valueOf<dsl::ScheduleKind>(text(from, "schedule"));
    good &= kind.has_value();
    rate.kind = kind.value_or(rate.kind);
    rate.peak = number(from, "peak");
    rate.final = number(from, "final");
    rate.warmup = length(from, "warmup");
    rate.steps = length(from, "steps");
    if (rate.hasFactor()) {
      rate.factor = number(from, "factor");
      rate.every = length(from, "every");
    }
    if (from.contains("scaled"))
      rate.scaled = {number(from, "scaled"), number(from, "per")};
    return rate;
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
  dsl::Length length(DictionaryAttr from, StringRef key) {
    Attribute found = from.get(key);
    if (auto steps = dyn_cast_or_null<IntegerAttr>(found))
      return {static_cast<double>(steps.getInt())};
    auto parts = dyn_cast_or_null<ArrayAttr>(found);
    auto count = parts && parts.size() == 2 ? dyn_cast<FloatAttr>(parts[0]) : FloatAttr();
    auto word = parts && parts.size() == 2 ? dyn_cast<StringAttr>(parts[1]) : StringAttr();
    if (std::optional<dsl::LengthUnit> unit = word ? program::valueOf<dsl::LengthUnit>(word.getValue()) : std::nullopt; unit && count)
      return {count.getValueAsDouble(), *unit};
    good = false;
    return {};
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

void setOptimizers(ModuleOp module, ArrayRef<dsl::Optimizer> optimizers) {
  Writer writer(module.getContext());
  SmallVector<Attribute> list;
  for (const dsl::Optimizer &optimizer : optimizers)
    list.push_back(writer.write(optimizer));
  attributes::optimizers.set(module, list);
}

void setRates(ModuleOp module, ArrayRef<dsl::Optimizer> optimizers) {
  Writer writer(module.getContext());
  SmallVector<Attribute> list;
  for (const dsl::Optimizer &optimizer : optimizers)
    list.push_back(writer.write(optimizer.rate));
  attributes::rates.set(module, list);
}

FailureOr<std::vector<dsl::LearningRate>> ratesOf(ModuleOp module) {
  Reader reader;
  std::vector<dsl::LearningRate> result;
  for (DictionaryAttr each : attributes::rates.get(module))
    result.push_back(reader.readRate(each));
  if (!reader.good)
    return module.emitError() << "the attribute '" << attributes::rates.str() << "' has a learning rate that lacks a field";
  return result;
}

std::vector<int> wordsOfRates(ArrayRef<dsl::LearningRate> rates) {
  std::vector<int> words;
  int next = 0;
  for (const dsl::LearningRate &rate : rates)
    words.push_back(rate.isInSteps() ? -1 : std::exchange(next, next + program::rateWords));
  return words;
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
