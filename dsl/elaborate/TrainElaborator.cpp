// Evaluates a train block: settings in any order, each at most once.
#include "dsl/elaborate/TrainElaborator.h"
#include "dsl/Suggestions.h"
#include "dsl/Vocabulary.h"
#include "dsl/parse/GrammarWords.h"

#include <algorithm>

namespace npar::dsl {
namespace {

const std::vector<std::string> trainSettings = {"batch", "optimizer", "clip", "seed", "epochs"};

class TrainElaborator {
public:
  TrainElaborator(const ast::Train &source, const KnownOptimizers &known, bool damped, int64_t impliedBatch, Settings &settings,
                  Evaluator &evaluator)
      : source(source), known(known), damped(damped), impliedBatch(impliedBatch), settings(settings), evaluator(evaluator),
        reporter(evaluator.reporter) {}

  ElaboratedTrain run() {
    result.train.name = source.name.text;
    result.train.location = result.batchAt = source.name.location;
    bindConstants(evaluator, source.parameters, settings, scope, "train block '" + source.name.text + "'");
    std::map<std::string, const ast::Expression *> values;
    for (const ast::Setting &s : source.settings) {
      if (s.name.text == "freeze")
        reporter.error(Code::T1, s.name.location, "what is frozen is called by paths in quotes", {"write `freeze \"encoder.*\"`"});
      else if (std::find(trainSettings.begin(), trainSettings.end(), s.name.text) == trainSettings.end())
        reporter.error(Code::T1, s.name.location, "a train block has no '" + s.name.text + "'", unknownHelp(s.name.text));
      else if (!values.insert({s.name.text, s.value.get()}).second)
        reporter.error(Code::T1, s.name.location, "'" + s.name.text + "' is given twice");
    }
    for (const char *key : {"batch", "clip", "seed", "epochs"})
      if (const Setting *s = settings.find(key))
        values[key] = s->value.get();
    attempt([&] { batch(values["batch"]); });
    attempt([&] { optimizer(values["optimizer"]); });
    attempt([&] { clip(values["clip"]); });
    attempt([&] { seed(values["seed"]); });
    attempt([&] { epochs(values["epochs"]); });
    if (result.calls.empty())
      result.calls.resize(1); // an error was reported; further optimizers keep their numbers
    result.rules = readParameterRules(source.rules, evaluator, scope, [&](const ast::Expression &e) { return furtherOptimizer(e); });
    return result;
  }

private:
  template <typename F> void attempt(F f) {
    try {
      f();
    } catch (const Stop &) {
    }
  }

  static Helps unknownHelp(const std::string &name) {
    std::vector<std::string> words = trainWords();
    Helps helps = didYouMean(name, words);
    return helps.empty() ? Helps{"it has " + joined(words, "and")} : helps;
  }

  void batch(const ast::Expression *e) {
    if (!e && impliedBatch == 0)
      reporter.fail(Code::T1, source.name.location, "train block '" + source.name.text + "' has no batch",
                    {"write `batch 32`, or give a plan with `micro` and `accumulate`, from which it follows"});
    result.train.batchFollows = !e;
    int64_t value = e ? evaluator.integer(*e, scope, "the batch") : impliedBatch;
    if (value < 1 || value > INT32_MAX)
      reporter.fail(Code::T1, e ? e->location : source.name.location,
                    "the batch is " + std::to_string(value) + ", it must be 1 to " + std::to_string(INT32_MAX));
    result.train.batch = value;
    if (e)
      result.batchAt = e->location;
  }

  void clip(const ast::Expression *e) {
    if (!e || (e->kind == ast::ExpressionKind::Name && e->text == "none"))
      return;
    double value = evaluator.number(*e, scope, "the largest norm");
    if (!(value > 0))
      reporter.fail(Code::T1, e->location, "the largest norm is " + textOf(value) + ", it must be above 0",
                    {"write `clip none` for no clipping"});
    result.train.clip = value;
  }

  void seed(const ast::Expression *e) {
    if (!e)
      return;
    int64_t value = evaluator.integer(*e, scope, "the seed");
    if (value < 0)
      reporter.fail(Code::T1, e->location, "the seed is " + std::to_string(value) + ", it must not be negative");
    result.train.seed = static_cast<uint64_t>(value);
  }

  void epochs(const ast::Expression *e) {
    if (!e)
      return;
    double value = evaluator.number(*e, scope, "the number of epochs");
    if (!(value > 0))
      reporter.fail(Code::T1, e->location, "the number of epochs is " + textOf(value) + ", it must be above 0");
    result.train.epochs = value;
  }

  void optimizer(const ast::Expression *e) {
    if (!e)
      reporter.fail(Code::T1, source.name.location, "train block '" + source.name.text + "' has no optimizer",
                    {"write `optimizer AdamW(lr = 3e-4)`"});
    result.calls = {readOptimizerCall(*e, known, &settings, result.train.batch, evaluator, scope)};
    result.train.optimizers = {elaborateOptimizer(result.calls.front(), {}, damped, reporter)};
  }

  /// The number of a rule's own optimizer in `calls`. Reports what is wrong with its text too; its decay is known when the model is.
  size_t furtherOptimizer(const ast::Expression &e) {
    OptimizerCall call = readOptimizerCall(e, known, nullptr, result.train.batch, evaluator, scope);
    elaborateOptimizer(call, {}, damped, reporter);
    result.calls.push_back(std::move(call));
    return result.calls.size() - 1;
  }

  const ast::Train &source;
  const KnownOptimizers &known;
  bool damped;
  int64_t impliedBatch;
  Settings &settings;
  Evaluator &evaluator;
  Reporter &reporter;
  Scope scope;
  ElaboratedTrain result;
};

} // namespace

std::vector<std::string> trainWords() {
  std::vector<std::string> words = trainSettings, keywords = keywordsOf(GrammarItem::Train);
  words.insert(words.end(), keywords.begin(), keywords.end());
  return words;
}

ElaboratedTrain elaborateTrain(const ast::Train &train, const KnownOptimizers &known, bool damped, int64_t impliedBatch, Settings &settings,
                               Evaluator &evaluator) {
  return TrainElaborator(train, known, damped, impliedBatch, settings, evaluator).run();
}

} // namespace npar::dsl
