// Evaluates a train block: settings in any order, each at most once; AdamW and Sgd are call forms.
#include "dsl/elaborate/TrainElaborator.h"
#include "dsl/Suggestions.h"
#include "dsl/parse/GrammarWords.h"

#include <algorithm>

namespace npar::dsl {
namespace {

const std::vector<std::string> trainSettings = {"batch", "optimizer", "clip", "seed"};

class TrainElaborator {
public:
  TrainElaborator(const ast::Train &source, Settings &settings, Evaluator &evaluator)
      : source(source), settings(settings), evaluator(evaluator), reporter(evaluator.reporter) {}

  ElaboratedTrain run() {
    result.train.name = source.name.text;
    result.train.location = result.batchAt = source.name.location;
    bindConstants(evaluator, source.parameters, settings, scope, "train block '" + source.name.text + "'");
    std::map<std::string, const ast::Expression *> values;
    for (const ast::Setting &s : source.settings) {
      if (s.name.text == "freeze")
        reporter.error(s.name.location, "what is frozen is called by paths in quotes", {"write `freeze \"encoder.*\"`"});
      else if (std::find(trainSettings.begin(), trainSettings.end(), s.name.text) == trainSettings.end())
        reporter.error(s.name.location, "a train block has no '" + s.name.text + "'", unknownHelp(s.name.text));
      else if (!values.insert({s.name.text, s.value.get()}).second)
        reporter.error(s.name.location, "'" + s.name.text + "' is given twice");
    }
    for (const char *key : {"batch", "clip", "seed"})
      if (const Setting *s = settings.find(key))
        values[key] = s->value.get();
    attempt([&] { batch(values["batch"]); });
    attempt([&] { optimizer(values["optimizer"]); });
    attempt([&] { clip(values["clip"]); });
    attempt([&] { seed(values["seed"]); });
    result.rules = readParameterRules(source.rules, evaluator, scope);
    return result;
  }

private:
  template <typename F> void attempt(F f) {
    try {
      f();
    } catch (const Stop &) {
    }
  }

  static std::vector<std::string> unknownHelp(const std::string &name) {
    std::vector<std::string> words = trainSettings, keywords = keywordsOf(GrammarItem::Train);
    words.insert(words.end(), keywords.begin(), keywords.end());
    std::vector<std::string> helps = didYouMean(name, words);
    return helps.empty() ? std::vector<std::string>{"it has " + joined(words, "and")} : helps;
  }

  void batch(const ast::Expression *e) {
    if (!e)
      reporter.fail(source.name.location, "train block '" + source.name.text + "' has no batch", {"write `batch 32`"});
    int64_t value = evaluator.integer(*e, scope, "the batch");
    if (value < 1 || value > INT32_MAX)
      reporter.fail(e->location, "the batch is " + std::to_string(value) + ", it must be 1 to " + std::to_string(INT32_MAX));
    result.train.batch = value;
    result.batchAt = e->location;
  }

  void clip(const ast::Expression *e) {
    if (!e || (e->kind == ast::ExpressionKind::Name && e->text == "none"))
      return;
    double value = evaluator.number(*e, scope, "the largest norm");
    if (!(value > 0))
      reporter.fail(e->location, "the largest norm is " + textOf(value) + ", it must be above 0", {"write `clip none` for no clipping"});
    result.train.clip = value;
  }

  void seed(const ast::Expression *e) {
    if (!e)
      return;
    int64_t value = evaluator.integer(*e, scope, "the seed");
    if (value < 0)
      reporter.fail(e->location, "the seed is " + std::to_string(value) + ", it must not be negative");
    result.train.seed = static_cast<uint64_t>(value);
  }

  struct Call {
    std::string name;
    std::vector<const ast::Expression *> values; ///< one per formal, null when left out
  };

  /// `Name(arguments)` where the formals of each name are known.
  Call call(const ast::Expression &e, const std::string &what, const std::map<std::string, std::vector<Formal>> &forms) {
    std::vector<std::string> names;
    for (const auto &form : forms)
      names.push_back(form.first);
    if (e.kind != ast::ExpressionKind::Suffixed || e.items[0]->kind != ast::ExpressionKind::Name || e.suffixes.size() != 1 ||
        e.suffixes[0].kind != ast::SuffixKind::Call)
      reporter.fail(e.location, what + " is written as a call of " + joined(names));
    const ast::Expression &callee = *e.items[0];
    auto form = forms.find(callee.text);
    if (form == forms.end()) {
      std::vector<std::string> helps = didYouMean(callee.text, names);
      reporter.fail(callee.location, "unknown " + what.substr(what.find(' ') + 1) + " '" + callee.text + "'",
                    helps.empty() ? std::vector<std::string>{"it is one of " + joined(names)} : helps);
    }
    Call result{callee.text, {}};
    for (const ast::Argument *a : matchArguments(reporter, "'" + callee.text + "'", e.location, form->second, e.suffixes[0].arguments))
      result.values.push_back(a ? a->value.get() : nullptr);
    return result;
  }

  double atLeastZero(const ast::Expression *e, double fallback, const std::string &what) {
    if (!e)
      return fallback;
    double value = evaluator.number(*e, scope, what);
    if (!(value >= 0))
      reporter.fail(e->location, what + " is " + textOf(value) + ", it must not be negative");
    return value;
  }

  double fraction(const ast::Expression &e, const std::string &what) {
    double value = atLeastZero(&e, 0, what);
    if (value >= 1)
      reporter.fail(e.location, what + " is " + textOf(value) + ", it must be below 1");
    return value;
  }

  int64_t steps(const ast::Expression *e, const std::string &what) {
    if (!e)
      return 0;
    int64_t value = evaluator.integer(*e, scope, what);
    if (value < 0)
      reporter.fail(e->location, what + " is " + std::to_string(value) + ", it must not be negative");
    return value;
  }

  LearningRate rate(const ast::Expression &e) {
    LearningRate r;
    const std::vector<std::string> &functions = constantFunctions();
    if (e.kind != ast::ExpressionKind::Suffixed || std::find(functions.begin(), functions.end(), e.items[0]->text) != functions.end()) {
      r.peak = atLeastZero(&e, 0, "the learning rate");
      return r;
    }
    Call c = call(e, "a learning rate",
                  {{"constant", {{"peak"}, {"warmup", true}}},
                   {"linear", {{"peak"}, {"warmup", true}, {"steps"}, {"final", true}}},
                   {"cosine", {{"peak"}, {"warmup", true}, {"steps"}, {"final", true}}}});
    r.kind = c.name == "constant" ? ScheduleKind::Constant : c.name == "linear" ? ScheduleKind::Linear : ScheduleKind::Cosine;
    r.peak = atLeastZero(c.values[0], 0, "the peak of the learning rate");
    r.warmup = steps(c.values[1], "the warm-up");
    if (r.kind == ScheduleKind::Constant)
      return r;
    r.steps = steps(c.values[2], "the number of steps");
    r.final = atLeastZero(c.values[3], 0, "the final learning rate");
    if (r.steps <= r.warmup)
      reporter.fail(c.values[2]->location,
                    "the schedule ends at step " + std::to_string(r.steps) + ", within its warm-up of " + std::to_string(r.warmup),
                    {"steps must be at least " + std::to_string(r.warmup + 1)});
    return r;
  }

  void optimizer(const ast::Expression *e) {
    static const std::map<std::string, std::vector<Formal>> forms = {
        {"AdamW", {{"lr"}, {"betas", true}, {"epsilon", true}, {"decay", true}}},
        {"Sgd", {{"lr"}, {"momentum", true}, {"decay", true}}},
    };
    if (!e)
      reporter.fail(source.name.location, "train block '" + source.name.text + "' has no optimizer",
                    {"write `optimizer AdamW(lr = 3e-4)`"});
    Call c = call(*e, "an optimizer", forms);
    const std::vector<Formal> &formals = forms.at(c.name);
    for (size_t i = 0; i < formals.size(); ++i)
      if (const Setting *s = settings.find("optimizer." + formals[i].name))
        c.values[i] = s->value.get();
    Train &t = result.train;
    t.rate = rate(*c.values[0]);
    if (c.name == "Sgd") {
      t.optimizer = OptimizerKind::Sgd;
      t.momentum = c.values[1] ? fraction(*c.values[1], "the momentum") : 0;
      t.decay = atLeastZero(c.values[2], 0, "the decay");
      return;
    }
    t.optimizer = OptimizerKind::AdamW;
    if (const ast::Expression *betas = c.values[1]) {
      bool pair = (betas->kind == ast::ExpressionKind::Tuple || betas->kind == ast::ExpressionKind::List) && betas->items.size() == 2;
      if (!pair)
        reporter.fail(betas->location, "'betas' must be two numbers", {"write betas = (0.9, 0.95)"});
      t.beta1 = fraction(*betas->items[0], "the first beta");
      t.beta2 = fraction(*betas->items[1], "the second beta");
    }
    if (c.values[2])
      t.epsilon = evaluator.number(*c.values[2], scope, "epsilon");
    if (!(t.epsilon >= smallestNumber)) // an entry without a gradient so far would become 0 / 0
      reporter.fail(c.values[2]->location, "epsilon is " + textOf(t.epsilon) + ", it must be at least " + textOf(smallestNumber));
    t.decay = atLeastZero(c.values[3], 0, "the decay");
  }

  const ast::Train &source;
  Settings &settings;
  Evaluator &evaluator;
  Reporter &reporter;
  Scope scope;
  ElaboratedTrain result;
};

} // namespace

ElaboratedTrain elaborateTrain(const ast::Train &train, Settings &settings, Evaluator &evaluator) {
  return TrainElaborator(train, settings, evaluator).run();
}

} // namespace npar::dsl
