// TOML, YAML and JSON as a flat list of settings with their places.
#include "tools/npar/foreign/ForeignFile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <yaml-cpp/yaml.h>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace npar::driver {
namespace {

constexpr size_t mostEntries = 20'000; ///< an alias of YAML can name a tree again and again
constexpr int deepest = 32;

uint32_t columnOf(size_t column) { return static_cast<uint32_t>(column); }

void flatten(const toml::node &node, const std::string &path, uint32_t file, std::vector<ForeignEntry> &entries) {
  if (const toml::table *table = node.as_table()) {
    for (const auto &[key, value] : *table) {
      size_t before = entries.size();
      flatten(value, path.empty() ? std::string(key.str()) : path + "." + std::string(key.str()), file, entries);
      if (!value.is_table() && entries.size() > before) // the place of the key, not of its value
        entries.back().at = {file, key.source().begin.line, key.source().begin.column, static_cast<uint32_t>(key.str().size())};
    }
    return;
  }
  ForeignEntry entry{path, {}, {file, node.source().begin.line, node.source().begin.column, 1}};
  if (const toml::value<std::string> *text = node.as_string())
    entry.value = text->get();
  else if (const toml::value<bool> *truth = node.as_boolean())
    entry.value = truth->get() ? "true" : "false";
  else if (const toml::value<int64_t> *whole = node.as_integer())
    entry.value = std::to_string(whole->get());
  else if (const toml::value<double> *number = node.as_floating_point())
    entry.value = fmt::format("{}", number->get());
  else {
    std::ostringstream text;
    text << toml::default_formatter(node);
    entry.value = text.str();
  }
  entries.push_back(std::move(entry));
}

/// The first line with a key of more than 100 parts, which the library would follow down call by call; 0: there is none.
uint32_t lineOfLongKey(const std::string &text) {
  uint32_t line = 1, points = 0;
  bool isComment = false, isStart = true;
  for (char c : text) {
    if (c == '\n')
      ++line, isComment = false, isStart = true;
    isComment = isComment || (isStart && c == '#');
    isStart = isStart && (c == ' ' || c == '\t' || c == '\n');
    if (c == '\n' || c == '=' || c == ',' || c == '{' || c == '}' || c == '[' || c == ']')
      points = 0;
    points += c == '.' && !isComment ? 1 : 0;
    if (points > 100)
      return line;
  }
  return 0;
}

/// False when there are too many of them, or they are nested too deep.
bool flatten(const YAML::Node &node, const std::string &path, uint32_t file, const YAML::Mark &key, std::vector<ForeignEntry> &entries,
             int depth) {
  if (depth > deepest || entries.size() > mostEntries)
    return false;
  if (node.IsMap()) {
    for (const auto &pair : node) {
      if (!pair.first.IsScalar())
        return false;
      if (!flatten(pair.second, path.empty() ? pair.first.Scalar() : path + "." + pair.first.Scalar(), file, pair.first.Mark(), entries,
                   depth + 1))
        return false;
    }
    return true;
  }
  if (node.IsNull() || !node.IsDefined())
    return true;
  ForeignEntry entry{path, {}, {file, static_cast<uint32_t>(key.line) + 1, columnOf(static_cast<size_t>(key.column)) + 1, 1}};
  if (node.IsScalar()) {
    entry.value = node.Scalar();
    if (node.Tag() != "!") { // a word in quotes stays one
      if (entry.value == "True" || entry.value == "yes")
        entry.value = "true";
      if (entry.value == "False" || entry.value == "no")
        entry.value = "false";
    }
  } else {
    for (const YAML::Node &part : node) {
      if (!part.IsScalar()) {
        entry.value += entry.value.empty() ? "..." : " ...";
        continue;
      }
      entry.value += (entry.value.empty() ? "" : " ") + part.Scalar();
      if (entry.value.size() > 1000)
        break;
    }
  }
  if (!entry.value.empty())
    entries.push_back(std::move(entry));
  return true;
}

} // namespace

std::vector<ForeignEntry> readToml(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics) {
  std::vector<ForeignEntry> entries;
  if (uint32_t line = lineOfLongKey(text)) {
    diagnostics.error({file, line, 1, 1}, "this is nested more than 100 deep");
    return entries;
  }
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::source_position &at = parsed.error().source().begin;
    std::string message(parsed.error().description());
    diagnostics.error({file, at.line, at.column, 1}, "this is no TOML: " + message);
    return entries;
  }
  flatten(parsed.table(), "", file, entries);
  return entries;
}

std::vector<ForeignEntry> readYaml(const std::string &text, uint32_t file, bool strict, dsl::Diagnostics &diagnostics) {
  std::vector<ForeignEntry> entries;
  size_t nesting = 0;
  for (char c : text) {
    nesting += c == '[' || c == '{' ? 1 : 0;
    nesting -= (c == ']' || c == '}') && nesting > 0 ? 1 : 0;
    if (nesting > 100) {
      diagnostics.error({file, 1, 1, 1}, "this is nested more than 100 deep");
      return entries;
    }
  }
  if (strict) { // its message says line and column itself: the byte tells them
    try {
      nlohmann::json checked = nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error &error) {
      size_t byte = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
      size_t start = byte == 0 ? std::string::npos : text.rfind('\n', byte - 1);
      uint32_t line = 1 + static_cast<uint32_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n'));
      std::string message = error.what();
      size_t colon = message.find(": ");
      message = colon == std::string::npos ? message : message.substr(colon + 2);
      diagnostics.error({file, line, columnOf(byte - (start == std::string::npos ? 0 : start + 1)) + 1, 1}, "this is no JSON: " + message);
      return entries;
    }
  }
  try {
    YAML::Node root = YAML::Load(text);
    if (!root.IsMap())
      diagnostics.error({file, 1, 1, 1}, strict ? "this is no object of JSON" : "this is no list of keys with values");
    else if (!flatten(root, "", file, root.Mark(), entries, 0))
      diagnostics.error({file, 1, 1, 1}, "this has too many keys, keys that are no words, or is nested too deep");
  } catch (const YAML::Exception &error) {
    bool known = error.mark.line >= 0;
    diagnostics.error(
        {file, known ? static_cast<uint32_t>(error.mark.line) + 1 : 1, known ? static_cast<uint32_t>(error.mark.column) + 1 : 1, 1},
        std::string("this is no ") + (strict ? "JSON" : "YAML") + ": " + error.msg);
  }
  return entries;
}

} // namespace npar::driver
