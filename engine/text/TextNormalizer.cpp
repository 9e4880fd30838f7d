// Each consumes only what later text cannot change.
#include "engine/text/TextNormalizer.h"

#include "engine/text/Unicode.h"
#include "engine/text/Utf8.h"

#include <algorithm>

namespace npar::engine {
namespace {

class Prepend : public Normalizer {
public:
  explicit Prepend(std::string before) : before(std::move(before)) {}
  Result<size_t> apply(std::string_view text, State &state, bool, std::string &out) const override {
    if (state.begins)
      out += before;
    out += text;
    return text.size();
  }

private:
  std::string before;
};

class Strip : public Normalizer {
public:
  Strip(bool left, bool right) : left(left), right(right) {}
  Result<size_t> apply(std::string_view text, State &state, bool goesOn, std::string &out) const override {
    const CharacterSet &spaces = setOf(Property::WhiteSpace);
    size_t begin = text.size(), end = 0; // of the text without the spaces at its ends
    for (size_t at = 0; at < text.size();) {
      size_t from = at;
      if (!spaces.contains(*characterAt(text, at)))
        begin = std::min(begin, from), end = at;
    }
    if (!(left && state.begins))
      begin = 0;
    else if (end == 0)
      return goesOn ? size_t{0} : text.size();
    if (!right)
      end = text.size();
    out += text.substr(begin, end - begin);
    return goesOn ? end : text.size();
  }

private:
  bool left, right;
};

class ReplaceText : public Normalizer {
public:
  ReplaceText(std::string text, std::string by) : from(std::move(text)), by(std::move(by)) {}
  Result<size_t> apply(std::string_view text, State &, bool goesOn, std::string &out) const override {
    size_t done = 0;
    for (size_t at; (at = text.find(from, done)) != std::string_view::npos; done = at + from.size())
      out.append(text.substr(done, at - done)).append(by);
    size_t kept = goesOn ? std::min(from.size() - 1, text.size() - done) : 0;
    while (kept > 0 && from.compare(0, kept, text.substr(text.size() - kept)) != 0)
      --kept; // only the beginning of an occurrence waits
    out += text.substr(done, text.size() - kept - done);
    return text.size() - kept;
  }

private:
  std::string from, by;
};

class ReplacePattern : public Normalizer {
public:
  ReplacePattern(std::shared_ptr<const Pattern> pattern, std::string by) : pattern(std::move(pattern)), by(std::move(by)) {}
  Result<size_t> apply(std::string_view text, State &, bool goesOn, std::string &out) const override {
    PatternMatcher matcher(pattern);
    size_t done = 0;
    for (Span span; done < text.size(); done = span.end) {
      PatternMatcher::Found found = matcher.next(text, done, goesOn, span);
      if (found == PatternMatcher::Found::Failed)
        return PatternMatcher::failure();
      if (found == PatternMatcher::Found::Undecided || (found == PatternMatcher::Found::None && goesOn)) {
        span.begin = found == PatternMatcher::Found::None ? text.size() : span.begin;
        out += text.substr(done, span.begin - done);
        return span.begin;
      }
      if (found == PatternMatcher::Found::None)
        break;
      out.append(text.substr(done, span.begin - done)).append(by);
    }
    out += text.substr(done);
    return text.size();
  }

private:
  std::shared_ptr<const Pattern> pattern;
  std::string by;
};

} // namespace

std::shared_ptr<const Normalizer> prependNormalizer(std::string before) { return std::make_shared<Prepend>(std::move(before)); }
std::shared_ptr<const Normalizer> stripNormalizer(bool left, bool right) { return std::make_shared<Strip>(left, right); }
std::shared_ptr<const Normalizer> replaceNormalizer(std::string text, std::string by) {
  return std::make_shared<ReplaceText>(std::move(text), std::move(by));
}
std::shared_ptr<const Normalizer> replaceNormalizer(std::shared_ptr<const Pattern> pattern, std::string by) {
  return std::make_shared<ReplacePattern>(std::move(pattern), std::move(by));
}

} // namespace npar::engine
