// The regular expressions by which tokenizers cut a text into words, over libpcre2.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace npar::engine {

/// Writes a pattern of a tokenizer file, which is meant for Oniguruma, for PCRE2. What means something else there, or is not known to mean
/// the same, is refused by name: `\s` becomes a class of its own (PCRE2's has U+180E too), `.`, `^`, `$`, `\w`, `\b`, nested classes
/// and references are refused.
Result<std::string> translatePattern(std::string_view pattern);
/// The pattern that finds this text.
std::string patternOfText(std::string_view text);

struct Span {
  size_t begin = 0, end = 0;
};

/// Compiled once; read by any number of threads, each with a PatternMatcher of its own. Knows the characters of Unicode 14 with Debian 12's
/// libpcre2: what later versions assign is neither letter nor number to it.
class Pattern {
public:
  /// Refuses what translatePattern or PCRE2 refuses, a pattern that can match nothing, and one longer than 16 KiB.
  static Result<std::shared_ptr<const Pattern>> compile(std::string_view pattern);
  ~Pattern();
  Pattern(const Pattern &) = delete;

private:
  friend class PatternMatcher;
  explicit Pattern(void *code) : code(code) {}
  void *code; ///< pcre2_code, whose header stays in Pattern.cpp
};

class PatternMatcher {
public:
  explicit PatternMatcher(std::shared_ptr<const Pattern> pattern);
  PatternMatcher(PatternMatcher &&) noexcept = default;

  enum class Found { Match, None, Undecided, Failed };
  /// The first match in valid UTF-8 at or after `from`. `goesOn`: more text will follow, and where it could change the answer this is
  /// Undecided. Failed: the pattern needs too many steps or too much memory here.
  Found next(std::string_view text, size_t from, bool goesOn, Span &span);

private:
  struct Free {
    void operator()(void *data) const;
  };
  std::shared_ptr<const Pattern> pattern;
  std::unique_ptr<void, Free> data;
};

} // namespace npar::engine
