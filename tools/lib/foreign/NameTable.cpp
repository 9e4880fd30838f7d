// Looks up the class of a setting's name.
#include "tools/lib/foreign/NameTable.h"

#include <algorithm>
#include <cstdlib>

namespace npar::foreign {
namespace {

/// Tells whether two words are the same number: "5e8" and "500000000".
bool isSameNumber(const std::string &a, const std::string &b) {
  char *endOfA = nullptr, *endOfB = nullptr;
  double first = std::strtod(a.c_str(), &endOfA), second = std::strtod(b.c_str(), &endOfB);
  return !a.empty() && !b.empty() && *endOfA == 0 && *endOfB == 0 && first == second;
}

} // namespace

bool KnownName::hasEffect(const std::string &value) const {
  static constexpr std::string_view off[] = {"false", "no", "0", "0.0", "none", "NONE", "None", "[]", "{}", "auto", ""};
  if (unchanged.empty())
    return std::find(std::begin(off), std::end(off), value) == std::end(off);
  return value != unchanged && !isSameNumber(value, unchanged);
}

NameTable::NameTable(std::initializer_list<Row> rows) {
  for (const Row &row : rows)
    for (size_t begin = 0; begin < row.names.size();) {
      size_t end = std::min(row.names.find(' ', begin), row.names.size());
      std::string_view name = row.names.substr(begin, end - begin);
      size_t equals = std::min(name.find('='), name.size());
      if (!name.empty())
        names[std::string(name.substr(0, equals))] = {row.part, row.lacking, std::string(name.substr(std::min(equals + 1, name.size()))),
                                                      name.size() > 2 && name.substr(name.size() - 2) == ".*"};
      begin = end + 1;
    }
}

const KnownName *NameTable::find(const std::string &key) const {
  if (auto known = names.find(key); known != names.end())
    return &known->second;
  for (size_t dot = key.rfind('.'); dot != std::string::npos && dot > 0; dot = key.rfind('.', dot - 1))
    if (auto known = names.find(key.substr(0, dot) + ".*"); known != names.end())
      return &known->second;
  return nullptr;
}

} // namespace npar::foreign
