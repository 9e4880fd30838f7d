// Tests of the endings of file names.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace npar::files {

/// True if `text` ends with `ending` and is longer than it.
inline bool endsWith(std::string_view text, std::string_view ending) {
  return text.size() > ending.size() && text.substr(text.size() - ending.size()) == ending;
}

/// True for the name of a PNG or JPEG file, in capitals or not, that is not hidden.
inline bool isPictureName(std::string name) {
  bool isHidden = name[0] == '.';
  std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return !isHidden && (endsWith(name, ".png") || endsWith(name, ".jpg") || endsWith(name, ".jpeg"));
}

} // namespace npar::files
