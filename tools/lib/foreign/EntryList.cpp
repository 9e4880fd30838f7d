// Limits totals: a small file can repeat a long key before many short ones, or a whole tree by one alias.
#include "tools/lib/foreign/EntryList.h"

#include "engine/readable/Printable.h"

#include <fmt/format.h>

namespace npar::foreign {

bool EntryList::refuse(dsl::Location at, const std::string &message) {
  if (!refused)
    diagnostics.error(dsl::Code::F1, at, message);
  refused = true;
  return false;
}

bool EntryList::add(std::string key, std::string value, dsl::Location at, std::optional<UnknownValue> unknown) {
  if (refused || value.empty())
    return !refused;
  if (entries.size() == mostForeignEntries)
    return refuse(at, fmt::format("this file has more than {} settings, the most that are read", mostForeignEntries));
  if (key.size() > longestForeignKey)
    return refuse(at, fmt::format("this name has {} bytes, at most {} are read", key.size(), longestForeignKey));
  entries.push_back({readable::printableName(key), readable::printableName(value), at,
                     std::move(unknown)}); // both are shown, and no setting has a line break
  return true;
}

bool EntryList::enter(size_t depth, dsl::Location at) {
  if (refused)
    return false;
  if (depth > deepestForeignFile)
    return refuse(at, fmt::format("this is nested more than {} deep", deepestForeignFile));
  return ++values <= mostForeignValues ||
         refuse(at, fmt::format("this file has more than {} values, the most that are read (what an alias names counts each time)",
                                mostForeignValues));
}

bool EntryList::join(const std::string &parent, const std::string &key, dsl::Location at, std::string &path) {
  if (parent.size() + key.size() + 1 > longestForeignKey)
    return refuse(at, fmt::format("this name, with those around it, has {} bytes, at most {} are read", parent.size() + key.size() + 1,
                                  longestForeignKey));
  path = parent.empty() ? key : parent + "." + key;
  return !refused;
}

uint32_t lineOfDeepNesting(const std::string &text, size_t most) {
  uint32_t line = 1;
  size_t nesting = 0;
  for (char c : text) {
    line += c == '\n' ? 1 : 0;
    nesting += c == '[' || c == '{' ? 1 : 0;
    nesting -= (c == ']' || c == '}') && nesting > 0 ? 1 : 0;
    if (nesting > most)
      return line;
  }
  return 0;
}

} // namespace npar::foreign
