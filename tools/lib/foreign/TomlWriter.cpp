// Writes TOML, section by section.
#include "tools/lib/foreign/Torchtitan.h"

#include <algorithm>
#include <cstdlib>

namespace npar::foreign {
namespace {

bool isNumber(const std::string &text) {
  char *end = nullptr;
  std::strtod(text.c_str(), &end);
  return !text.empty() && *end == 0 && text.find_first_not_of("0123456789+-.eE") == std::string::npos;
}

/// A word, a number or a truth value in TOML's syntax.
std::string scalarText(const std::string &value) {
  return value == "true" || value == "false" || isNumber(value) ? value : '"' + value + '"';
}

/// The same for a list of them too, `[a, b]`.
std::string tomlText(const std::string &value) {
  if (value.size() < 2 || value.front() != '[' || value.back() != ']')
    return scalarText(value);
  std::string text;
  for (size_t begin = 1; begin + 1 < value.size();) {
    size_t end = std::min(value.find(", ", begin), value.size() - 1);
    text += (text.empty() ? "" : ", ") + scalarText(value.substr(begin, end - begin));
    begin = end + 2;
  }
  return "[" + text + "]";
}

} // namespace

void Toml::section(const std::string &name) {
  auto known = std::find_if(sections.begin(), sections.end(), [&](const auto &one) { return one.first == name; });
  current = static_cast<size_t>(known - sections.begin());
  if (known == sections.end())
    sections.push_back({name, {}});
}

void Toml::set(const std::string &key, const std::string &value) {
  Lines &lines = sections[current].second;
  auto known = std::find_if(lines.begin(), lines.end(), [&](const auto &line) { return line.first == key; });
  if (known == lines.end())
    lines.emplace_back(key, value);
  else
    known->second = value;
}

void Toml::add(const std::string &key, double value) { // a TOML float needs a decimal point or an exponent
  std::string number = fmt::format("{}", value);
  set(key, number + (number.find_first_of(".e") == std::string::npos ? ".0" : ""));
}

void Toml::addWritten(const std::string &key, const std::string &value) {
  size_t dot = key.rfind('.');
  section(dot == std::string::npos ? "" : key.substr(0, dot));
  set(key.substr(dot + 1), tomlText(value));
}

std::string Toml::text() const {
  std::string text;
  for (const auto &[name, lines] : sections) {
    if (lines.empty())
      continue;
    text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", name);
    for (const auto &[key, value] : lines)
      text += fmt::format("{} = {}\n", key, value);
  }
  return text;
}

} // namespace npar::foreign
