// Only the first pattern sees text that may go on; the later ones get its pieces whole.
#include "engine/text/WordCutter.h"

#include "engine/text/SpaceMark.h"

namespace npar::engine {
namespace {

bool wantsSpace(CutRule::Space space, std::string_view text, WordCutter::Place place) {
  bool spaced = text.front() == ' ', marked = spaced || text.substr(0, spaceMark.size()) == spaceMark;
  switch (space) {
  case CutRule::Space::WhereNone:
    return place != WordCutter::Place::Within && !spaced;
  case CutRule::Space::NoMark:
    return place != WordCutter::Place::Within && !marked;
  case CutRule::Space::FirstNoMark:
    return place == WordCutter::Place::Text && !marked;
  case CutRule::Space::Always:
    return place != WordCutter::Place::Within;
  }
  return false;
}

} // namespace

WordCutter::WordCutter(const std::vector<CutRule> &rules) {
  for (const CutRule &rule : rules) {
    steps.push_back({std::nullopt, rule.keepsGaps, rule.space});
    if (rule.pattern)
      steps.back().matcher.emplace(rule.pattern);
  }
}

Status WordCutter::cut(std::string_view text, Place place, bool goesOn, const Word &word, size_t &done) {
  return apply(0, text, place, goesOn, word, done);
}

Status WordCutter::apply(size_t rule, std::string_view text, Place place, bool goesOn, const Word &word, size_t &done) {
  done = 0;
  if (text.empty())
    return {};
  if (rule == steps.size()) {
    if (goesOn)
      return {};
    done = text.size();
    return word(text);
  }
  if (steps[rule].matcher)
    return match(rule, text, goesOn, word, done);
  if (!wantsSpace(steps[rule].space, text, place))
    return apply(rule + 1, text, place, goesOn, word, done);
  std::string spaced = " " + std::string(text);
  Status status = apply(rule + 1, spaced, place, goesOn, word, done);
  done -= done > 0;
  return status;
}

Status WordCutter::match(size_t rule, std::string_view text, bool goesOn, const Word &word, size_t &done) {
  Step &step = steps[rule];
  auto give = [&](size_t begin, size_t end) {
    size_t whole;
    return apply(rule + 1, text.substr(begin, end - begin), Place::Piece, false, word, whole);
  };
  while (done < text.size()) {
    Span span;
    PatternMatcher::Found found = step.matcher->next(text, done, goesOn, span);
    if (found == PatternMatcher::Found::Failed)
      return Status::badInput("matching the pattern takes too long or too much memory");
    if (found != PatternMatcher::Found::Match)
      break;
    if (step.keepsGaps)
      if (Status status = give(done, span.begin); !status.ok())
        return status;
    if (Status status = give(span.begin, span.end); !status.ok())
      return status;
    done = span.end;
  }
  if (goesOn)
    return {};
  Status status = step.keepsGaps ? give(done, text.size()) : Status();
  done = text.size();
  return status;
}

} // namespace npar::engine
