// Patterns of names in checkpoint blocks: at most one '*', which stands for any text, points included.
#pragma once

#include <string>

namespace npar::dsl {

/// Whether `pattern` matches all of `text`.
inline bool matchesName(const std::string &pattern, const std::string &text) {
  size_t star = pattern.find('*');
  if (star == std::string::npos)
    return pattern == text;
  size_t after = pattern.size() - star - 1;
  return text.size() >= star + after && text.compare(0, star, pattern, 0, star) == 0 &&
         text.compare(text.size() - after, after, pattern, star + 1, after) == 0;
}

/// Whether `pattern` matches every name that `other` does: then the '*' of `other` is some of its own text.
inline bool coversPattern(const std::string &pattern, const std::string &other) { return matchesName(pattern, other); }

} // namespace npar::dsl
