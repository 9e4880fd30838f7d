// Limits the length of texts in messages and records.
#pragma once

#include <string>

namespace npar::engine {

/// The text, or the beginning of a longer one with dots, in at most `limit` bytes.
inline std::string cutText(const std::string &text, size_t limit) {
  return text.size() <= limit ? text : text.substr(0, limit - 3) + "...";
}

} // namespace npar::engine
