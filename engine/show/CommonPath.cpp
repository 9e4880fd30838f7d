// Words for what equal blocks have in common.
#include "engine/show/CommonPath.h"

#include <algorithm>
#include <cctype>

namespace npar::show {

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

std::string blockPattern(const std::string &path) {
  std::string pattern;
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find('.', begin), path.size());
    std::string part = path.substr(begin, end - begin);
    bool number = !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char one) { return std::isdigit(one); });
    pattern += (begin ? "." : "") + (number ? "*" : part);
    begin = end + 1;
  }
  return pattern;
}

program::CauseT withoutPath(program::CauseT cause) {
  if (cause.variable.find('.') != std::string::npos)
    cause.variable.clear();
  return cause;
}

} // namespace npar::show
