// Reads the list of arguments that Megatron-LM prints when it starts.
#include "tools/lib/foreign/EntryList.h"

#include <sstream>

namespace npar::foreign {
namespace {

/// Calls `take(key, value, line, column)` for each line of a list of arguments, until it returns false.
template <typename Take> void eachArgument(const std::string &text, Take take) {
  std::istringstream lines(text);
  uint32_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    size_t dots = line.find(" ..");
    size_t end = dots == std::string::npos ? dots : line.find_first_not_of('.', dots + 1);
    if (dots == std::string::npos || dots == 0 || end == std::string::npos || line[end] != ' ')
      continue;
    size_t start = line.find_last_of(" \t", dots - 1);
    start = start == std::string::npos ? 0 : start + 1;
    std::string key = line.substr(start, dots - start), value = line.substr(end + 1);
    if (value == "True" || value == "False")
      value = value == "True" ? "true" : "false";
    if (!key.empty() && value != "None" && !value.empty() && !take(key, value, number, start + 1))
      return;
  }
}

} // namespace

bool isDump(const std::string &text) {
  size_t count = 0;
  eachArgument(text, [&](const std::string &, const std::string &, uint32_t, size_t) { return ++count < 3; });
  return count == 3;
}

std::vector<ForeignEntry> readDump(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics) {
  EntryList entries(file, diagnostics);
  eachArgument(text, [&](const std::string &key, const std::string &value, uint32_t line, size_t column) {
    return entries.add(key, value, entries.at(line, column, key.size()));
  });
  return entries.take();
}

} // namespace npar::foreign
