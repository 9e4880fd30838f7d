// Evaluates schedules, their lengths in steps, epochs or shares of the run, and rates that scale with the batch.
#include "dsl/elaborate/LearningRate.h"

#include "dsl/Suggestions.h"
#include "engine/program/Words.h"

#include <algorithm>

namespace npar::dsl {
namespace {

const char *scaledName = "scaled";

/// The arguments of each schedule. The first is its peak, the second its warm-up.
std::vector<Formal> formalsOf(ScheduleKind kind) {
  std::vector<Formal> formals = {{"peak"}, {"warmup", true, true}};
  switch (kind) {
  case ScheduleKind::Constant:
    break;
  case ScheduleKind::Linear:
  case ScheduleKind::Cosine:
    formals.insert(formals.end(), {{"steps", true, true}, {"final", true}});
    break;
  case ScheduleKind::Step:
    formals.insert(formals.end(), {{"factor"}, {"every", false, true}});
    break;
  case ScheduleKind::Exponential:
    formals.insert(formals.end(), {{"factor"}, {"every", true, true}});
    break;
  }
  return formals;
}

std::string lengthText(const Length &length) { return textOf(length.count) + " " + program::wordOf(length.unit); }

class RateReader {
public:
  RateReader(int64_t batch, Evaluator &evaluator, Scope &scope)
      : batch(batch), evaluator(evaluator), reporter(evaluator.reporter), scope(scope) {}

  LearningRate read(const ast::Expression &e) {
    LearningRate rate;
    const std::vector<std::string> &functions = constantFunctions();
    bool isNumber =
        e.kind != ast::ExpressionKind::Suffixed || std::find(functions.begin(), functions.end(), e.items[0]->text) != functions.end();
    if (isNumber || isScaled(e)) {
      rate.peak = valueOf(e, "the learning rate", &rate.scaled);
      return rate;
    }
    std::vector<std::string> names;
    for (ScheduleKind kind : program::EnumValuesRateSchedule())
      names.emplace_back(program::wordOf(kind));
    names.emplace_back(scaledName);
    const ast::Expression &callee = calleeOf(e, "a learning rate", names, reporter);
    std::optional<ScheduleKind> schedule = program::valueOf<ScheduleKind>(callee.text);
    if (!schedule) {
      Helps helps = didYouMean(callee.text, names);
      reporter.fail(Code::T4, callee.location, "unknown learning rate '" + callee.text + "'",
                    helps.empty() ? Helps{"it is one of " + joined(names)} : helps);
    }
    rate.kind = *schedule;
    slots = matchArguments(reporter, "'" + callee.text + "'", e.location, formalsOf(rate.kind), e.suffixes[0].arguments);
    rate.peak = valueOf(*slots[0]->value, "the peak of the learning rate", &rate.scaled);
    if (slots[1])
      rate.warmup = length(*slots[1], "the warm-up");
    if (rate.hasFactor())
      readFactor(rate);
    else if (rate.hasEnd())
      readEnd(rate, e);
    return rate;
  }

private:
  static bool isScaled(const ast::Expression &e) {
    return e.kind == ast::ExpressionKind::Suffixed && e.items[0]->kind == ast::ExpressionKind::Name && e.items[0]->text == scaledName;
  }

  double atLeastZero(const ast::Expression &e, const std::string &what) {
    double value = evaluator.number(e, scope, what);
    if (!(value >= 0))
      reporter.fail(Code::T4, e.location, what + " is " + textOf(value) + ", it must not be negative");
    return value;
  }

  /// A number, or `scaled(rate, per = samples)`, whose parts go to `scaled`.
  double valueOf(const ast::Expression &e, const std::string &what, std::optional<ScaledRate> *scaled = nullptr) {
    if (!isScaled(e))
      return atLeastZero(e, what);
    calleeOf(e, what, {scaledName}, reporter);
    auto arguments = matchArguments(reporter, "'scaled'", e.location, {{"rate"}, {"per"}}, e.suffixes[0].arguments);
    ScaledRate parts;
    parts.rate = atLeastZero(*arguments[0]->value, what);
    parts.per = evaluator.number(*arguments[1]->value, scope, "'per'");
    if (!(parts.per > 0))
      reporter.fail(Code::T4, arguments[1]->value->location,
                    "the rate is per " + textOf(parts.per) + " samples, the number of samples must be above 0");
    if (scaled)
      *scaled = parts;
    return parts.rate * static_cast<double>(batch) / parts.per;
  }

  Length length(const ast::Argument &argument, const std::string &what) {
    const ast::Expression &e = *argument.value;
    Length result;
    if (argument.unit.text.empty()) {
      int64_t value = evaluator.integer(e, scope, what);
      if (value < 0)
        reporter.fail(Code::T4, e.location, what + " is " + std::to_string(value) + ", it must not be negative");
      result.count = static_cast<double>(value);
      return result;
    }
    result.unit = argument.unit.text == "run" ? LengthUnit::Run : LengthUnit::Epochs;
    result.count = atLeastZero(e, what);
    if (result.unit == LengthUnit::Run && result.count > 1)
      reporter.fail(Code::T4, e.location, what + " is " + textOf(result.count) + " of the run, it must be at most 1");
    return result;
  }

  void readFactor(LearningRate &rate) {
    rate.factor = evaluator.number(*slots[2]->value, scope, "the factor of the learning rate");
    if (!(rate.factor > 0 && rate.factor <= 1))
      reporter.fail(Code::T4, slots[2]->value->location,
                    "the factor of the learning rate is " + textOf(rate.factor) + ", it must be above 0 and at most 1");
    if (slots[3])
      rate.every = length(*slots[3], "the number of steps between changes of the learning rate");
    if (rate.every.count == 0)
      reporter.fail(Code::T4, slots[3]->value->location,
                    rate.every.isInSteps() ? "the learning rate changes every 0 steps, it must be at least 1"
                                           : "the learning rate changes every " + lengthText(rate.every) + ", the number must be above 0");
  }

  void readEnd(LearningRate &rate, const ast::Expression &e) {
    rate.steps = slots[2] ? length(*slots[2], "the number of steps") : Length{1, LengthUnit::Run};
    rate.final = slots[3] ? valueOf(*slots[3]->value, "the final learning rate") : 0;
    const Location &at = slots[2] ? slots[2]->value->location : e.location;
    if (rate.steps.unit != rate.warmup.unit || rate.steps.count > rate.warmup.count) {
      if (rate.steps.count == 0)
        reporter.fail(Code::T4, at, "the schedule ends after " + lengthText(rate.steps) + ", the number must be above 0");
      return;
    }
    if (rate.steps.isInSteps())
      reporter.fail(Code::T4, at,
                    "the schedule ends at step " + textOf(rate.steps.count) + ", within its warm-up of " + textOf(rate.warmup.count),
                    {"steps must be at least " + textOf(rate.warmup.count + 1)});
    reporter.fail(Code::T4, at, "the schedule ends after " + lengthText(rate.steps) + ", within its warm-up of " + lengthText(rate.warmup),
                  {"make the warm-up shorter"});
  }

  int64_t batch;
  Evaluator &evaluator;
  Reporter &reporter;
  Scope &scope;
  std::vector<const ast::Argument *> slots; ///< arguments of the schedule, by its formals
};

} // namespace

const ast::Expression &calleeOf(const ast::Expression &call, const std::string &what, const std::vector<std::string> &names,
                                Reporter &reporter) {
  if (call.kind != ast::ExpressionKind::Suffixed || call.items[0]->kind != ast::ExpressionKind::Name || call.suffixes.size() != 1 ||
      call.suffixes[0].kind != ast::SuffixKind::Call)
    reporter.fail(Code::T4, call.location, what + " is written as a call of " + joined(names));
  return *call.items[0];
}

LearningRate readLearningRate(const ast::Expression &rate, int64_t batch, Evaluator &evaluator, Scope &scope) {
  return RateReader(batch, evaluator, scope).read(rate);
}

} // namespace npar::dsl
