// Compares values and writes them in the syntax of JSON and of `--set`.
#include "dsl/frontend/ConfigValues.h"

#include <algorithm>
#include <charconv>

namespace npar::dsl {

/// The shortest text that reads as the same number.
static std::string numberText(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

Value valueOf(const ConfigEntry &entry) {
  if (auto *truth = std::get_if<bool>(&entry.value))
    return *truth;
  if (auto *integer = std::get_if<int64_t>(&entry.value))
    return *integer;
  if (auto *number = std::get_if<double>(&entry.value))
    return *number;
  if (auto *text = std::get_if<std::string>(&entry.value))
    return *text;
  if (auto *numbers = std::get_if<NumberList>(&entry.value))
    return *numbers;
  if (auto *texts = std::get_if<TextList>(&entry.value))
    return *texts;
  return None{};
}

ConfigValue configValueOf(const Value &value) {
  if (auto *truth = std::get_if<bool>(&value))
    return *truth;
  if (auto *integer = std::get_if<int64_t>(&value))
    return *integer;
  if (auto *number = std::get_if<double>(&value))
    return *number;
  if (auto *text = std::get_if<std::string>(&value))
    return *text;
  if (auto *numbers = std::get_if<NumberList>(&value))
    return *numbers;
  if (auto *texts = std::get_if<TextList>(&value))
    return *texts;
  return std::monostate();
}

bool isNull(const ConfigEntry &entry) { return entry.plain && std::holds_alternative<std::monostate>(entry.value); }

bool isEmptyList(const ConfigEntry &entry) { return entry.text == "[]"; }

std::string jsonText(const Value &value) {
  if (auto *number = std::get_if<double>(&value))
    return numberText(*number);
  if (auto *text = std::get_if<std::string>(&value))
    return '"' + *text + '"';
  return std::holds_alternative<None>(value) ? "null" : textOf(value);
}

std::string settingText(const Value &value) {
  if (auto *number = std::get_if<double>(&value)) {
    std::string text = numberText(*number);
    return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
  }
  if (auto *text = std::get_if<std::string>(&value); text && text->find('-') != std::string::npos) // else a difference
    return '"' + *text + '"';
  if (auto *list = std::get_if<NumberList>(&value)) {
    std::string entries;
    for (double number : *list)
      entries += (entries.empty() ? "" : ",") + numberText(number);
    return '[' + entries + ']';
  }
  return std::holds_alternative<None>(value) ? "none" : textOf(value);
}

bool isPlainWord(const std::string &text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
}

bool same(const Value &a, const Value &b) {
  if (isNumber(a) && isNumber(b))
    return toDouble(a) == toDouble(b);
  if (a.index() != b.index())
    return false;
  if (auto *truth = std::get_if<bool>(&a))
    return *truth == std::get<bool>(b);
  if (auto *text = std::get_if<std::string>(&a))
    return *text == std::get<std::string>(b);
  if (auto *numbers = std::get_if<NumberList>(&a))
    return *numbers == std::get<NumberList>(b);
  if (auto *texts = std::get_if<TextList>(&a))
    return *texts == std::get<TextList>(b);
  return std::holds_alternative<None>(a);
}

} // namespace npar::dsl
