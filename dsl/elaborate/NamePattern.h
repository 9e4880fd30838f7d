// Patterns of names: a '*' matches any text, including points. Patterns of checkpoint blocks have at most one, those of train blocks any
// number.
#pragma once

#include <string>

namespace npar::dsl {

/// Returns whether `pattern` matches all of `text`.
inline bool matchesName(const std::string &pattern, const std::string &text) {
  size_t star = pattern.find('*');
  if (star == std::string::npos)
    return pattern == text;
  size_t last = pattern.rfind('*'), after = pattern.size() - last - 1;
  if (text.size() < star + after || text.compare(0, star, pattern, 0, star) != 0 ||
      text.compare(text.size() - after, after, pattern, last + 1, after) != 0)
    return false;
  // The earliest match of a part between two stars leaves the most text to the remaining parts.
  size_t at = star;
  while (star != last) {
    size_t next = pattern.find('*', star + 1);
    std::string part = pattern.substr(star + 1, next - star - 1);
    at = text.find(part, at);
    if (at == std::string::npos || (at += part.size()) > text.size() - after)
      return false;
    star = next;
  }
  return true;
}

/// Returns whether `pattern` matches every name that `other` matches; a '*' in `other` counts as a character of its text.
inline bool coversPattern(const std::string &pattern, const std::string &other) { return matchesName(pattern, other); }

} // namespace npar::dsl
