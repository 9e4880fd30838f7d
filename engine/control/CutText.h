// Limits the length of texts in messages and records.
#pragma once

#include <string>

namespace npar::engine {

/// At most `limit` bytes of the text; a longer one is cut and ends with dots.
inline std::string cutText(const std::string &text, size_t limit) {
  return text.size() <= limit ? text : text.substr(0, limit - 3) + "...";
}

} // namespace npar::engine
