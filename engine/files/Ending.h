// Tests the ending of a file name.
#pragma once

#include <string_view>

namespace npar::files {

/// True if `text` ends with `ending` and is longer than it.
inline bool endsWith(std::string_view text, std::string_view ending) {
  return text.size() > ending.size() && text.substr(text.size() - ending.size()) == ending;
}

} // namespace npar::files
