// Wraps libpcre2 for the regular expressions by which tokenizers cut a text into words.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace npar::engine {

/// Translates a pattern of a tokenizer file, which is written for Oniguruma, for PCRE2. Constructs whose meaning differs, or is not known
/// to be the same, are refused by name: `.`, `^`, `$`, `\w`, `\b`, intersections of classes and references. `\s` becomes an explicit class
/// (PCRE2's also contains U+180E); categories get the characters that Oniguruma's newer Unicode has in addition.
Result<std::string> translatePattern(std::string_view pattern);

struct Span {
  size_t begin = 0, end = 0;
};

/// Compiled once; any number of threads may use it, each with a PatternMatcher of its own.
class Pattern {
public:
  /// Refuses what translatePattern or PCRE2 refuses, a pattern that can match the empty text, and one longer than 16 KiB.
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
  /// Finds the first match in valid UTF-8 at or after `from`. `goesOn`: more text will follow; if it could change the result, this is
  /// Undecided, and a match may begin at `span.begin`. Failed: the pattern needs too many steps or too much memory here.
  Found next(std::string_view text, size_t from, bool goesOn, Span &span);
  /// The error for Failed.
  static Status failure() { return Status::badInput("matching the pattern takes too long or too much memory"); }

private:
  struct Free {
    void operator()(void *data) const;
  };
  std::shared_ptr<const Pattern> pattern;
  std::unique_ptr<void, Free> data;
};

} // namespace npar::engine
