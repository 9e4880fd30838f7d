// Only the first splitting rule sees text that may continue; the later ones get its pieces whole.
#include "engine/text/WordCutter.h"

#include "engine/text/ByteCharacters.h"
#include "engine/text/SpaceMark.h"
#include "engine/text/Utf8.h"

namespace npar::engine {
namespace {

CutRule ruleOfKind(CutRule::Kind kind) {
  CutRule rule;
  rule.kind = kind;
  return rule;
}

CutRule splitRule(Delimiter delimiter, Behavior behavior, bool inverted) {
  CutRule rule;
  rule.delimiter = std::move(delimiter), rule.behavior = behavior, rule.inverted = inverted;
  return rule;
}

bool beginsWith(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

/// The text that a rule puts before a piece.
std::string_view prefixOf(const CutRule &rule, std::string_view text, WordCutter::Place place) {
  if (place == WordCutter::Place::Within)
    return {};
  if (rule.kind == CutRule::Kind::PrefixSpace)
    return text.front() == ' ' ? "" : " ";
  if (rule.kind != CutRule::Kind::Mark || text.front() == ' ' || beginsWith(text, rule.mark))
    return {};
  bool wanted = rule.prepend == CutRule::Prepend::Always || (rule.prepend == CutRule::Prepend::First && place == WordCutter::Place::Text);
  return wanted ? std::string_view(rule.mark) : std::string_view();
}

/// Returns true if the event joins the piece before it.
bool joinsPiece(Behavior behavior, bool before, bool now) {
  switch (behavior) {
  case Behavior::Removed:
  case Behavior::Isolated:
    return false;
  case Behavior::MergedWithPrevious:
    return now && !before;
  case Behavior::MergedWithNext:
    return before && !now;
  case Behavior::Contiguous:
    return before == now;
  }
  return false;
}

} // namespace

CutRule splitRule(std::shared_ptr<const Pattern> pattern, Behavior behavior, bool inverted) {
  return splitRule(Delimiter{std::move(pattern), nullptr, {}}, behavior, inverted);
}
CutRule splitRule(const CharacterSet &set, Behavior behavior) { return splitRule(Delimiter{nullptr, &set, {}}, behavior, false); }
CutRule splitRule(std::string text, Behavior behavior) { return splitRule(Delimiter{nullptr, nullptr, std::move(text)}, behavior, false); }
CutRule prefixSpaceRule() { return ruleOfKind(CutRule::Kind::PrefixSpace); }
CutRule byteCharactersRule() { return ruleOfKind(CutRule::Kind::ByteCharacters); }
CutRule separateRule(const CharacterSet &joined) {
  CutRule rule = ruleOfKind(CutRule::Kind::Separate);
  rule.joined = &joined;
  return rule;
}
CutRule markRule(std::string mark, CutRule::Prepend prepend) {
  CutRule rule = ruleOfKind(CutRule::Kind::Mark);
  rule.mark = std::move(mark), rule.prepend = prepend;
  return rule;
}

WordCutter::WordCutter(const std::vector<CutRule> &rules) {
  for (const CutRule &rule : rules) {
    steps.push_back({rule, std::nullopt, {}});
    if (rule.delimiter.pattern)
      steps.back().matcher.emplace(rule.delimiter.pattern);
  }
}

Status WordCutter::cut(std::string_view text, Place place, bool goesOn, const Word &word, size_t &done) {
  return apply(0, text, place, goesOn, word, done);
}

Status WordCutter::apply(size_t step, std::string_view text, Place place, bool goesOn, const Word &word, size_t &done) {
  done = 0;
  if (text.empty())
    return {};
  if (step == steps.size()) {
    if (goesOn)
      return {};
    done = text.size();
    return word(text);
  }
  switch (steps[step].rule.kind) {
  case CutRule::Kind::Split:
    return split(step, text, place, goesOn, word, done);
  case CutRule::Kind::Separate:
    return separate(step, text, goesOn, word, done);
  case CutRule::Kind::PrefixSpace:
  case CutRule::Kind::Mark:
  case CutRule::Kind::ByteCharacters:
    return rewrite(step, text, place, goesOn, word, done);
  }
  return {};
}

/// The next delimiter. A text of several bytes may begin at the end of what is there.
PatternMatcher::Found WordCutter::next(Step &step, std::string_view text, size_t from, bool goesOn, Span &span) {
  const Delimiter &delimiter = step.rule.delimiter;
  if (step.matcher)
    return step.matcher->next(text, from, goesOn, span);
  if (delimiter.set) {
    for (size_t at = from; at < text.size();) {
      span.begin = at;
      if (delimiter.set->contains(*characterAt(text, at))) {
        span.end = at;
        return PatternMatcher::Found::Match;
      }
    }
    return PatternMatcher::Found::None;
  }
  span.begin = text.find(delimiter.text, from);
  span.end = span.begin + delimiter.text.size();
  return span.begin == std::string_view::npos ? PatternMatcher::Found::None : PatternMatcher::Found::Match;
}

Status WordCutter::split(size_t at, std::string_view text, Place place, bool goesOn, const Word &word, size_t &done) {
  Step &step = steps[at];
  const Behavior behavior = step.rule.behavior;
  Span piece;           // the piece so far
  bool last = false;    // whether its last event was a delimiter
  bool pending = false; // there is a piece
  auto flush = [&]() -> Status {
    bool given = pending && !(behavior == Behavior::Removed && last);
    pending = false, done = piece.begin;
    size_t whole;
    Place where = piece.begin > 0 || place == Place::Within ? Place::Piece : place;
    if (given)
      TRY_STATUS(apply(at + 1, text.substr(piece.begin, piece.end - piece.begin), where, false, word, whole));
    done = piece.end;
    return {};
  };
  auto event = [&](size_t begin, size_t end, bool isMatch) -> Status {
    if (begin == end)
      return {};
    bool isDelimiter = isMatch != step.rule.inverted;
    if (pending && joinsPiece(behavior, last, isDelimiter)) {
      piece.end = end, last = isDelimiter;
      return {};
    }
    TRY_STATUS(flush());
    piece = {begin, end}, last = isDelimiter, pending = true;
    return {};
  };
  for (size_t from = 0; from < text.size();) {
    Span span;
    PatternMatcher::Found found = next(step, text, from, goesOn, span);
    if (found == PatternMatcher::Found::Failed)
      return PatternMatcher::failure();
    if (found != PatternMatcher::Found::Match) {
      if (!goesOn)
        TRY_STATUS(event(from, text.size(), false));
      break;
    }
    TRY_STATUS(event(from, span.begin, false));
    TRY_STATUS(event(span.begin, span.end, true));
    from = span.end;
  }
  bool final = !goesOn || behavior == Behavior::Isolated || behavior == Behavior::Removed;
  return final ? flush() : Status(); // else later text may join the piece
}

/// Text before the last mark is complete, because a mark alone decides about the cut before it.
Status WordCutter::separate(size_t step, std::string_view text, bool goesOn, const Word &word, size_t &done) {
  const CharacterSet &joined = *steps[step].rule.joined;
  size_t whole;
  for (size_t at = 0; (at = text.find(spaceMark, at + 1)) != std::string_view::npos;) {
    size_t before = at;
    while (before > done && (static_cast<uint8_t>(text[--before]) & 0xc0) == 0x80)
      ;
    if (joined.contains(*characterAt(text, before)))
      continue;
    TRY_STATUS(apply(step + 1, text.substr(done, at - done), Place::Piece, false, word, whole));
    done = at;
  }
  if (goesOn)
    return {};
  TRY_STATUS(apply(step + 1, text.substr(done), Place::Piece, false, word, whole));
  done = text.size();
  return {};
}

Status WordCutter::rewrite(size_t at, std::string_view text, Place place, bool goesOn, const Word &word, size_t &done) {
  Step &step = steps[at];
  std::string &to = step.rewritten;
  std::string_view prefix = prefixOf(step.rule, text, place);
  auto replacement = [&](char c) -> std::string_view {
    if (step.rule.kind == CutRule::Kind::ByteCharacters)
      return characterOfByte(static_cast<uint8_t>(c));
    return step.rule.kind == CutRule::Kind::Mark && c == ' ' ? std::string_view(step.rule.mark) : std::string_view();
  };
  to = prefix;
  for (char c : text) {
    std::string_view by = replacement(c);
    by.empty() ? to.push_back(c) : static_cast<void>(to.append(by));
  }
  size_t whole = 0;
  TRY_STATUS(apply(at + 1, to, place, goesOn, word, whole));
  // Converts the position in the rewritten text back.
  done = whole == to.size() ? text.size() : 0;
  for (size_t made = prefix.size(); done < text.size() && made < whole; ++done)
    made += std::max<size_t>(replacement(text[done]).size(), 1);
  return {};
}

} // namespace npar::engine
