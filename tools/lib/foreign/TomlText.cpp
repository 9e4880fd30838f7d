// TOML as a flat list of settings with their places.
#include "tools/lib/foreign/EntryList.h"

#include <fmt/format.h>
#include <sstream>

// The library asserts that a key follows a `[`, and reports an error right after that where none does.
#define TOML_ASSERT(expression) static_assert(true)
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace npar::foreign {
namespace {

/// Finds what the library would follow down call by call: keys of many parts, brackets inside each other. Knows texts and comments, where
/// points and brackets are neither.
class DepthScan {
public:
  explicit DepthScan(const std::string &text) : text(text) {}

  /// The first line that is too deep; 0: none.
  uint32_t run() {
    while (at < text.size()) {
      char c = text[at];
      if (c == '#') {
        at = std::min(text.find('\n', at), text.size());
      } else if (c == '"' || c == '\'') {
        skipText(c);
      } else {
        step(c);
        ++at;
      }
      if (points > deepestForeignFile || nesting > deepestForeignFile)
        return line;
    }
    return 0;
  }

private:
  void step(char c) {
    bool opens = c == '[' || c == '{', closes = c == ']' || c == '}';
    line += c == '\n' ? 1 : 0;
    nesting += opens ? 1 : 0;
    nesting -= closes && nesting > 0 ? 1 : 0;
    points = opens || closes || c == '\n' || c == '=' || c == ',' ? 0 : points + (c == '.' ? 1 : 0);
  }

  void skipText(char quote) {
    const std::string three(3, quote);
    bool isLong = text.compare(at, 3, three) == 0;
    at += isLong ? 3 : 1;
    for (; at < text.size(); ++at) {
      if (text[at] == '\\' && quote == '"' && at + 1 < text.size())
        ++at;
      else if (isLong ? text.compare(at, 3, three) == 0 : text[at] == quote)
        break;
      if (text[at] == '\n') {
        ++line;
        if (!isLong) // it has no end, which the library says
          break;
      }
    }
    at = std::min(at + (isLong ? 3 : 1), text.size());
  }

  const std::string &text;
  size_t at = 0, points = 0, nesting = 0;
  uint32_t line = 1;
};

std::string wordOf(const toml::node &node) {
  if (const toml::value<std::string> *text = node.as_string())
    return text->get();
  if (const toml::value<bool> *truth = node.as_boolean())
    return truth->get() ? "true" : "false";
  if (const toml::value<int64_t> *whole = node.as_integer())
    return std::to_string(whole->get());
  if (const toml::value<double> *number = node.as_floating_point())
    return fmt::format("{}", number->get());
  if (node.is_array_of_tables() || node.is_table())
    return "...";
  if (const toml::array *list = node.as_array()) {
    std::string text;
    for (const toml::node &part : *list) {
      text += (text.empty() ? "" : ", ") + (part.is_array() || part.is_table() ? "..." : wordOf(part).substr(0, longestForeignList));
      if (text.size() > longestForeignList)
        break;
    }
    return "[" + text + "]";
  }
  std::ostringstream text; // of a date or a time
  text << toml::default_formatter(node);
  return text.str();
}

bool flatten(const toml::table &table, const std::string &path, size_t depth, EntryList &entries) {
  for (const auto &[key, value] : table) {
    const toml::source_position &begin = key.source().begin;
    dsl::Location at = entries.at(begin.line, begin.column, key.str().size());
    std::string name;
    if (!entries.join(path, std::string(key.str()), at, name) || !entries.enter(depth, at))
      return false;
    const toml::table *inner = value.as_table();
    if (inner ? !flatten(*inner, name, depth + 1, entries) : !entries.add(name, wordOf(value), at))
      return false;
  }
  return true;
}

} // namespace

std::vector<ForeignEntry> readToml(const std::string &text, uint32_t file, dsl::Diagnostics &diagnostics) {
  EntryList entries(file, diagnostics);
  if (uint32_t line = DepthScan(text).run()) {
    entries.refuse(entries.at(line, 1), fmt::format("this is nested more than {} deep", deepestForeignFile));
    return {};
  }
  toml::parse_result parsed = toml::parse(text);
  if (parsed) {
    flatten(parsed.table(), "", 1, entries);
  } else {
    const toml::source_position &at = parsed.error().source().begin;
    entries.refuse(entries.at(at.line, at.column), "this is no TOML: " + std::string(parsed.error().description()).substr(0, 200));
  }
  return entries.take();
}

} // namespace npar::foreign
