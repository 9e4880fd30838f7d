// Words for what equal blocks have in common.
#include "tools/npar/view/Alike.h"

#include <cctype>

namespace npar::driver {

std::string joinedPath(const std::string &a, const std::string &b) {
  std::string result;
  size_t i = 0, j = 0;
  auto number = [](const std::string &text, size_t &at) {
    size_t begin = at;
    while (at < text.size() && (std::isdigit(static_cast<unsigned char>(text[at])) || text[at] == '*'))
      ++at;
    return text.substr(begin, at - begin);
  };
  while (i < a.size() && j < b.size()) {
    std::string left = number(a, i), right = number(b, j);
    if (!left.empty() || !right.empty()) {
      result += left == right ? left : "*";
    } else if (a[i] == b[j]) {
      result += a[i];
      ++i, ++j;
    } else {
      break;
    }
  }
  return i == a.size() && j == b.size() ? result : result.substr(0, result.find_last_of('.') + 1) + "...";
}

std::string withoutPaths(const std::string &cause) {
  std::string result;
  for (size_t at = 0; at < cause.size();) {
    size_t close = cause[at] == '\'' ? cause.find('\'', at + 1) : std::string::npos;
    if (close == std::string::npos) {
      result += cause[at++];
      continue;
    }
    std::string quoted = cause.substr(at, close + 1 - at);
    bool isPath = quoted.find('.') != std::string::npos && quoted.find(" -> ") == std::string::npos;
    result += isPath ? "each of these" : quoted;
    at = close + 1;
  }
  return result;
}

} // namespace npar::driver
