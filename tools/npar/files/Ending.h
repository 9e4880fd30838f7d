// What a file's name ends with.
#pragma once

#include <string_view>

namespace npar::driver {

/// False for a name that is nothing but the ending.
inline bool endsWith(std::string_view text, std::string_view ending) {
  return text.size() > ending.size() && text.substr(text.size() - ending.size()) == ending;
}

} // namespace npar::driver
