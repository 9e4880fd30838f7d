// Cuts PTX into words and signs.
#pragma once

#include <string>
#include <vector>

namespace npar::standin::ptx {

struct Word {
  std::string text; ///< letters, digits and `_ $ % .`, or one sign
  int line;
};

/// Comments are left out; an empty word ends the list.
inline std::vector<Word> cutWords(const std::string &source) {
  std::vector<Word> words;
  int line = 1;
  auto inWord = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%' || c == '.';
  };
  for (size_t i = 0; i < source.size();) {
    char c = source[i];
    if (c == 0)
      break;
    if (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
      line += c == '\n';
      ++i;
    } else if (c == '/' && source.compare(i, 2, "//") == 0) {
      while (i < source.size() && source[i] != '\n')
        ++i;
    } else if (c == '/' && source.compare(i, 2, "/*") == 0) {
      size_t end = source.find("*/", i + 2);
      for (end = end == std::string::npos ? source.size() : end + 2; i < end; ++i)
        line += source[i] == '\n';
    } else if (inWord(c)) {
      size_t begin = i;
      while (i < source.size() && inWord(source[i]))
        ++i;
      words.push_back({source.substr(begin, i - begin), line});
    } else {
      words.push_back({std::string(1, c), line});
      ++i;
    }
  }
  words.push_back({"", line});
  return words;
}

} // namespace npar::standin::ptx
