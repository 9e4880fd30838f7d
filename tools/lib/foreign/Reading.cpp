// Looks up settings by name, converts their values and lists the ones left over.
#include "tools/lib/foreign/Reading.h"

#include "engine/program/Elements.h"
#include "tools/lib/foreign/ForeignProgram.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

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

/// Digits in groups, as Python, TOML and YAML read them: 146_484_375.
static std::string withoutGroups(const std::string &text) {
  auto isDigitAt = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  std::string result;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != '_' || i == 0 || !isDigitAt(i - 1) || !isDigitAt(i + 1))
      result += text[i];
  return result;
}

int64_t Reading::whole(const ForeignEntry *entry, int64_t otherwise, int64_t least, int64_t most) {
  if (!entry || reportUnknown(*entry))
    return otherwise;
  const std::string text = withoutGroups(entry->value);
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
  const std::string text = withoutGroups(entry->value);
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
  dsl::Diagnostic &one = diagnostics.error(dsl::Code::F2, entry.at, fmt::format("'{}' depends on {}", shown(entry), unknown.why));
  if (unknown.at.file != entry.at.file || unknown.at.line != entry.at.line)
    one.note(unknown.at, "it is read here");
  if (!unknown.help.empty())
    one.help(entry.at, unknown.help);
  return true;
}

void Reading::differs(const ForeignEntry *entry, const std::string &why) {
  run.differences.push_back(entry ? fmt::format("line {}, {}: {}", entry->at.line, shown(*entry), why) : why);
  leave(entry, why);
  if (entry)
    run.notTaken.back().isDifference = true;
}

void Reading::leave(const ForeignEntry *entry, const std::string &why) {
  if (!entry)
    return;
  run.notTaken.push_back({entry->at, shown(*entry), why});
  keep(entry);
}

void Reading::keep(const ForeignEntry *entry) {
  if (!entry || file.isDump || entry->key.empty())
    return;
  const KnownName *known = file.program->nameOf(entry->key);
  Part part = known ? known->part : Part::Training; // an unknown setting may belong to any part
  bool isKept = std::any_of(run.kept.begin(), run.kept.end(), [&](const KeptSetting &one) { return one.key == entry->key; });
  if (part != Part::Run && part != Part::Model && !isKept)
    run.kept.push_back({part, entry->key, entry->value});
}

void Reading::keepSection(const std::string &prefix) {
  for (auto at = last.lower_bound(prefix); at != last.end() && at->first.compare(0, prefix.size(), prefix) == 0; ++at)
    keep(at->second);
}

void Reading::skipSection(const std::string &prefix) {
  for (auto at = last.lower_bound(prefix); at != last.end() && at->first.compare(0, prefix.size(), prefix) == 0; ++at)
    if (seen.insert(at->first).second)
      ++run.immaterial;
}

std::vector<ForeignEntry> Reading::takeSection(const std::string &prefix) {
  std::vector<ForeignEntry> section;
  for (const ForeignEntry &entry : file.entries)
    if (entry.key.compare(0, prefix.size(), prefix) == 0) {
      section.push_back(entry);
      section.back().key.erase(0, prefix.size());
      taken.insert(entry.key);
    }
  return section;
}

void Reading::place(const std::string &name, const ForeignEntry *entry) {
  if (entry)
    run.places.emplace_back(name, entry->at);
}

void Reading::error(const ForeignEntry &entry, const std::string &message) { diagnostics.error(dsl::Code::F2, entry.at, message); }

/// Tells whether a section around the setting is switched off by its `enabled`, which is off by default.
bool Reading::isOff(const std::string &key) const {
  for (size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1)) {
    std::string name = key.substr(0, dot) + ".enabled";
    auto given = last.find(name);
    const KnownName *known = file.program->nameOf(name);
    if (given != last.end() ? !isTrue(given->second) : known && !known->isSection && known->unchanged != "true")
      return true;
  }
  return false;
}

void Reading::finish() {
  for (const auto &[entry, why] : overruled) {
    const KnownName *known = file.program->nameOf(entry->key);
    if (taken.count(entry->key))
      continue;
    if ((!known || known->part != Part::Run) && last[entry->key]->value != entry->value)
      run.notTaken.push_back({entry->at, shown(*entry), why});
  }
  for (const ForeignEntry &one : file.entries) {
    auto known = last.find(one.key);
    const ForeignEntry *entry = known->second;
    if (entry != &one || taken.count(entry->key))
      continue;
    const KnownName *name = file.program->nameOf(entry->key);
    bool matters = name ? name->part != Part::Run : !file.isDump;
    if (entry->unknown && matters && !entry->unknown->isOfLauncher)
      reportUnknown(*entry);
    if (name && name->part == Part::Model && !file.isDump)
      run.modelSettings.emplace_back(entry->key, entry->value);
    if (seen.count(entry->key))
      continue;
    if (!name && (!file.isDump || KnownName().hasEffect(entry->value)))
      leave(entry, "npar does not know this setting");
    else if (!matters || !name->lacking || !name->hasEffect(entry->value) || isOff(entry->key))
      ++run.immaterial;
    else if (name->part == Part::Model)
      differs(entry, name->lacking);
    else
      leave(entry, name->lacking);
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

std::string lowerCase(std::string word) {
  for (char &c : word)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return word;
}

std::string upperCase(std::string word) {
  for (char &c : word)
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return word;
}

} // namespace npar::foreign
