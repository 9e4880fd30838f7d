// Reads the steps that prepare pictures. One step is a word or a call: `flip`, `resize(256)`.
#include "dsl/elaborate/PictureSteps.h"

#include "dsl/Suggestions.h"
#include "engine/program/Words.h"

#include <algorithm>

namespace npar::dsl {
namespace {

bool isRandom(PictureStepKind kind) {
  return kind == PictureStepKind::RandomCrop || kind == PictureStepKind::RandomResizedCrop || kind == PictureStepKind::Flip;
}

template <typename Enum, size_t count> std::vector<std::string> wordsFor(const Enum (&values)[count]) {
  std::vector<std::string> words;
  for (Enum value : values)
    words.push_back(wordOf(value));
  return words;
}

class StepReader {
public:
  StepReader(const ast::Expression &source, Evaluator &evaluator, Scope &scope)
      : source(source), evaluator(evaluator), reporter(evaluator.reporter), scope(scope) {}

  PictureStep run() {
    step.location = source.location;
    const ast::Expression &callee = source.kind == ast::ExpressionKind::Suffixed ? *source.items[0] : source;
    bool isCall = &callee != &source && source.suffixes.size() == 1 && source.suffixes[0].kind == ast::SuffixKind::Call;
    const std::vector<std::string> words = wordsFor(program::EnumValuesPictureStepKind());
    if (callee.kind != ast::ExpressionKind::Name || (&callee != &source && !isCall))
      reporter.fail(Code::T8, source.location, "a step that prepares pictures is " + joined(words),
                    {"as in `training: random_crop(pad = 4), flip`"});
    std::optional<PictureStepKind> kind = program::valueOf<PictureStepKind>(callee.text);
    if (!kind) {
      Helps helps = didYouMean(callee.text, words);
      reporter.fail(Code::T8, callee.location, "no step prepares pictures by '" + callee.text + "'",
                    helps.empty() ? Helps{"it is one of " + joined(words)} : helps);
    }
    step.kind = *kind;
    static const std::vector<ast::Argument> none;
    given = matchArguments(reporter, "'" + callee.text + "'", source.location, formals(), isCall ? source.suffixes[0].arguments : none);
    read();
    return std::move(step);
  }

private:
  std::vector<Formal> formals() const {
    switch (step.kind) {
    case PictureStepKind::Resize:
      return {{"height", true}, {"width", true}, {"by", true}};
    case PictureStepKind::CenterCrop:
      return {};
    case PictureStepKind::RandomCrop:
      return {{"pad", true}};
    case PictureStepKind::RandomResizedCrop:
      return {{"area", true}, {"ratio", true}, {"by", true}};
    case PictureStepKind::Flip:
      return {{"chance", true}};
    }
    return {};
  }

  void read() {
    switch (step.kind) {
    case PictureStepKind::Resize:
      for (size_t i = 0; i < 2; ++i)
        if (const ast::Expression *value = argument(i))
          step.numbers.push_back(pixels(*value, i ? "the width" : "the height", 1));
      if (!argument(0) && argument(1))
        reporter.fail(Code::T8, argument(1)->location, "'resize' has a width but no height",
                      {"one number is the length of the shorter side: resize(256)"});
      return interpolation(2);
    case PictureStepKind::CenterCrop:
      return;
    case PictureStepKind::RandomCrop:
      step.numbers = {argument(0) ? pixels(*argument(0), "the padding", 0) : 0};
      return;
    case PictureStepKind::RandomResizedCrop:
      range(0, "area", 0.08, 1, 1);
      range(1, "ratio", 3.0 / 4, 4.0 / 3, 1000);
      return interpolation(2);
    case PictureStepKind::Flip:
      step.numbers = {argument(0) ? evaluator.number(*argument(0), scope, "the chance of a flip") : 0.5};
      if (!(step.numbers[0] >= 0 && step.numbers[0] <= 1))
        reporter.fail(Code::T8, argument(0)->location, "the chance of a flip is " + textOf(step.numbers[0]) + ", it must be 0 to 1");
      return;
    }
  }

  const ast::Expression *argument(size_t index) const { return index < given.size() && given[index] ? given[index]->value.get() : nullptr; }

  double pixels(const ast::Expression &e, const std::string &what, int64_t least) {
    constexpr int64_t most = 16384;
    int64_t value = evaluator.integer(e, scope, what);
    if (value < least || value > most)
      reporter.fail(Code::T8, e.location,
                    what + " is " + std::to_string(value) + ", it must be " + std::to_string(least) + " to " + std::to_string(most) +
                        " pixels");
    return static_cast<double>(value);
  }

  /// Two numbers above 0, the smaller one first.
  void range(size_t index, const std::string &name, double least, double most, double largest) {
    if (const ast::Expression *e = argument(index)) {
      bool isPair = (e->kind == ast::ExpressionKind::Tuple || e->kind == ast::ExpressionKind::List) && e->items.size() == 2;
      if (!isPair)
        reporter.fail(Code::T8, e->location, "'" + name + "' must be two numbers, the least and the largest",
                      {"write " + name + " = (" + textOf(least) + ", " + textOf(most) + ")"});
      least = evaluator.number(*e->items[0], scope, "the least " + name);
      most = evaluator.number(*e->items[1], scope, "the largest " + name);
      if (!(least > 0 && least <= most && most <= largest))
        reporter.fail(Code::T8, e->location,
                      "'" + name + "' is " + textOf(least) + " to " + textOf(most) + ", it must begin above 0, not fall, and end at " +
                          textOf(largest) + " at most");
    }
    step.numbers.push_back(least), step.numbers.push_back(most);
  }

  void interpolation(size_t index) {
    const ast::Expression *e = argument(index);
    if (!e)
      return;
    std::optional<Interpolation> found;
    if (e->kind == ast::ExpressionKind::Name)
      found = program::valueOf<Interpolation>(e->text);
    if (!found)
      reporter.fail(Code::T8, e->location, "unknown interpolation" + (e->kind == ast::ExpressionKind::Name ? " '" + e->text + "'" : ""),
                    {"it is one of " + joined(wordsFor(program::EnumValuesInterpolation()))});
    step.interpolation = *found;
  }

  const ast::Expression &source;
  Evaluator &evaluator;
  Reporter &reporter;
  Scope &scope;
  PictureStep step;
  std::vector<const ast::Argument *> given;
};

} // namespace

void elaborateSteps(const std::vector<ast::DataSteps> &clauses, Evaluator &evaluator, Scope &scope, Data &data) {
  const std::vector<std::string> words{"pictures", "training", "evaluation"};
  for (const ast::DataSteps &clause : clauses) {
    const std::string &word = clause.word.text;
    if (std::find(words.begin(), words.end(), word) == words.end())
      evaluator.reporter.fail(Code::T8, clause.word.location, "a data block has no steps '" + word + ":'",
                              {"steps that prepare pictures follow `pictures:`, or `training:` and `evaluation:`"});
    for (const ast::DataSteps &earlier : clauses) {
      if (&earlier == &clause)
        break;
      if (earlier.word.text == word || earlier.word.text == "pictures" || word == "pictures") {
        evaluator.reporter.error(Code::T8, clause.word.location,
                                 "the steps for " + (word == "pictures" ? earlier.word.text : word) + " are given twice",
                                 earlier.word.location, "first given here");
        throw Stop{};
      }
    }
    for (const ast::ExpressionPtr &each : clause.steps) {
      PictureStep step = StepReader(*each, evaluator, scope).run();
      if (word != "training" && isRandom(step.kind))
        evaluator.reporter.fail(Code::T8, step.location,
                                std::string("'") + wordOf(step.kind) + "' is random, but an evaluation uses the same pictures each time",
                                {"write it after `training:`, and what evaluations use after `evaluation:`"});
      if (word != "evaluation")
        data.training.push_back(step);
      if (word != "training")
        data.evaluation.push_back(step);
    }
  }
}

} // namespace npar::dsl
