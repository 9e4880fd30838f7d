// The shell's patterns: `*`, `?`, `[...]`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace npar::foreign::shell {

constexpr size_t mostPatternSteps = 5'000'000;

/// A pattern is a list of what each place may have.
class Pattern {
public:
  /// Adds a text of which all bytes stand for themselves.
  void addLiteral(std::string_view text);
  /// Adds a text in which `*`, `?`, `[...]` and `\` have their meaning.
  void add(std::string_view text);
  /// `steps` counts the comparisons; beyond `mostPatternSteps` nothing matches.
  bool matches(std::string_view text, size_t &steps) const;
  /// Length of the shortest or longest match at the beginning; npos: none.
  size_t atBegin(std::string_view text, bool longest, size_t &steps) const;
  /// The beginning of the shortest or longest match at the end; npos: none.
  size_t atEnd(std::string_view text, bool longest, size_t &steps) const;

private:
  struct Place {
    enum class Kind { Byte, Any, Many, Set } kind = Kind::Byte;
    char byte = 0;
    std::string set; ///< all bytes that are in it
  };
  static bool fits(const Place &place, char c);
  std::vector<Place> places;
};

} // namespace npar::foreign::shell
