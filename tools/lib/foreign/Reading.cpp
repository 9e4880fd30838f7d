// Looks up settings by name, converts their values and lists the ones left over.
#include "tools/lib/foreign/Reading.h"

#include "engine/program/Elements.h"
#include "tools/lib/foreign/ForeignProgram.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fnmatch.h>

namespace npar::foreign {

Reading::Reading(const ForeignFile &file, ForeignRun &run, dsl::Diagnostics &diagnostics) : file(file), run(run), diagnostics(diagnostics) {
  for (const ForeignEntry &entry : file.entries) {
    auto [known, isNew] = last.emplace(entry.key, &entry);
    if (isNew)
      continue;
    if (known->second->value != entry.value)
      overruled.emplace_back(known->second, fmt::format("line {} overrides it", entry.at.line));
    known->second = &entry;
  }
}

std::string Reading::shown(const ForeignEntry &entry) const {
  std::string value = entry.value.size() > 60 ? entry.value.substr(0, 57) + "..." : entry.value;
  for (char &c : value)
    c = static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return file.program->shown(entry.key, value, file.isDump);
}

const ForeignEntry *Reading::peek(const std::string &key) const {
  auto known = last.find(key);
  return known == last.end() ? nullptr : known->second;
}

const ForeignEntry *Reading::find(const std::string &key) {
  auto known = last.find(key);
  if (known == last.end())
    return nullptr;
  if (seen.insert(key).second)
    ++run.understood;
  return known->second;
}

const ForeignEntry *Reading::findAny(std::initializer_list<const char *> keys) {
  const ForeignEntry *found = nullptr;
  for (const char *key : keys)
    if (const ForeignEntry *entry = find(key); entry && !found)
      found = entry;
  return found;
}

int64_t Reading::whole(const ForeignEntry *entry, int64_t otherwise, int64_t least, int64_t most) {
  if (!entry || reportUnknown(*entry))
    return otherwise;
  const std::string &text = entry->value;
  char *end = nullptr;
  errno = 0;
  long long value = std::strtoll(text.c_str(), &end, 10);
  bool isNumber = !text.empty() && end == text.c_str() + text.size();
  if (isNumber && errno == 0 && value >= least && value <= most)
    return value;
  std::string shown = text.substr(0, 60);
  if (isNumber && value > most)
    error(*entry, fmt::format("'{}' is {}, at most {} is read", entry->key, shown, most));
  else
    error(*entry, fmt::format("'{}' must be a whole number of at least {}, not '{}'", entry->key, least, shown));
  return otherwise;
}

double Reading::number(const ForeignEntry *entry, double otherwise, double most) {
  if (!entry || reportUnknown(*entry))
    return otherwise;
  const std::string &text = entry->value;
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  bool isDecimal = !text.empty() && end == text.c_str() + text.size() && text.find_first_of("xXnN") == std::string::npos;
  if (isDecimal && std::abs(value) <= most)
    return value;
  std::string shown = text.substr(0, 60);
  error(*entry, isDecimal ? fmt::format("'{}' is {}, at most {:g} is read", entry->key, shown, most)
                          : fmt::format("'{}' must be a number, not '{}'", entry->key, shown));
  return otherwise;
}

bool Reading::reportUnknown(const ForeignEntry &entry) {
  if (!entry.unknown || !reported.insert(&entry).second)
    return entry.unknown.has_value();
  const UnknownValue &unknown = *entry.unknown;
  dsl::Diagnostic &one = diagnostics.error(entry.at, fmt::format("'{}' depends on {}", shown(entry), unknown.why));
  if (unknown.at.file != entry.at.file || unknown.at.line != entry.at.line)
    one.note(unknown.at, "it is read here");
  if (!unknown.help.empty())
    one.help(entry.at, unknown.help);
  return true;
}

void Reading::differs(const ForeignEntry *entry, const std::string &why) {
  run.differences.push_back(entry ? fmt::format("line {}, {}: {}", entry->at.line, shown(*entry), why) : why);
}

void Reading::leave(const ForeignEntry *entry, const std::string &why) {
  if (entry)
    run.notTaken.push_back({entry->at, shown(*entry), why});
}

void Reading::leaveAll(const std::vector<std::pair<const char *, const char *>> &reasons) {
  for (const auto &[pattern, why] : reasons)
    for (const auto &[key, entry] : last) {
      if (seen.count(key) || fnmatch(pattern, key.c_str(), 0) != 0)
        continue;
      const std::string &value = entry->value;
      find(key);
      if (value != "false" && value != "0" && value != "0.0" && value != "none" && value != "NONE" && value != "[]" && value != "auto" &&
          value != "1.0" && value != "torch.float32")
        leave(entry, why);
    }
}

void Reading::skipUnless(const std::vector<std::pair<const char *, const char *>> &switches) {
  for (const auto &[pattern, name] : switches) {
    auto one = last.find(name);
    if (one != last.end() && one->second->value != "false" && one->second->value != "0" && one->second->value != "none")
      continue;
    for (const auto &[key, entry] : last)
      if (key != name && fnmatch(pattern, key.c_str(), 0) == 0 && seen.insert(key).second)
        ++run.immaterial;
  }
}

void Reading::skip(const std::string &key, const std::string &value) {
  auto known = last.find(key);
  if (known != last.end() && known->second->value == value && seen.insert(key).second)
    ++run.immaterial;
}

void Reading::place(const std::string &name, const ForeignEntry *entry) {
  if (entry)
    run.places.emplace_back(name, entry->at);
}

void Reading::error(const ForeignEntry &entry, const std::string &message) { diagnostics.error(entry.at, message); }

void Reading::finish(const std::vector<const char *> &immaterial) {
  auto isImmaterial = [&](const std::string &key) {
    return seen.count(key) == 0 &&
           std::any_of(immaterial.begin(), immaterial.end(), [&](const char *pattern) { return fnmatch(pattern, key.c_str(), 0) == 0; });
  };
  for (const auto &[entry, why] : overruled)
    if (!isImmaterial(entry->key) && last[entry->key]->value != entry->value)
      leave(entry, why);
  for (const auto &[key, entry] : last) {
    bool known = isImmaterial(key);
    if (entry->unknown && !known && !entry->unknown->isOfLauncher)
      reportUnknown(*entry);
    if (seen.count(key))
      continue;
    bool isOff = file.isDump && (entry->value == "false" || entry->value == "0" || entry->value == "0.0" || entry->value == "[]");
    if (known || isOff)
      ++run.immaterial;
    else
      leave(entry, "npar does not know this setting");
  }
}

std::string elementType(const std::string &word) {
  std::string text = word.rfind("torch.", 0) == 0 ? word.substr(6) : word;
  if (text == "half")
    text = "float16";
  if (text == "float" || text == "fp32")
    text = "float32";
  for (const program::ElementRow &row : program::elementRows)
    if (isFloating(row.type) && !isWide(row.type) && (text == row.planWord || text == row.longWord))
      return row.planWord;
  return "";
}

} // namespace npar::foreign
