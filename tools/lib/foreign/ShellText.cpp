// A scanner written by hand: std::regex recurses once per character.
#include "tools/lib/foreign/ShellText.h"

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace npar::foreign {
namespace {

constexpr int deepestDefault = 8; ///< `${A:-${B:-8}}`

bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool startsName(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool isOfName(char c) { return startsName(c) || isDigit(c); }

/// The end of the name that begins at `at`; `at` when none does.
size_t endOfName(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && (end == at ? startsName(text[end]) : isOfName(text[end])))
    ++end;
  return end;
}

size_t skipSpaces(std::string_view text, size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
    ++at;
  return at;
}

/// The value of `$((...))` over whole numbers with + - * /, usual precedence. Nothing for any other expression.
std::optional<int64_t> sumOf(std::string_view text) {
  int64_t sum = 0, product = 1;
  char before = '*', sign = '+';
  for (size_t at = 0;;) {
    int64_t value = 0;
    size_t digits = at = skipSpaces(text, at);
    for (; at < text.size() && isDigit(text[at]) && at - digits < 9; ++at)
      value = value * 10 + (text[at] - '0');
    if (at == digits || (before == '/' && value == 0))
      return std::nullopt;
    if (before == '/')
      product /= value;
    else if (__builtin_mul_overflow(product, value, &product))
      return std::nullopt;
    if (std::abs(product) > int64_t{1} << 40)
      return std::nullopt;
    at = skipSpaces(text, at);
    before = at < text.size() ? text[at++] : ' ';
    if (before == '*' || before == '/')
      continue;
    sum += sign == '-' ? -product : product; // a text has fewer than 2^13 of them
    if (before == ' ')
      return sum;
    if (before != '+' && before != '-')
      return std::nullopt;
    sign = before, before = '*', product = 1;
  }
}

/// A reference to a variable, or a sum: `$((SUM))`, `${NAME}`, `${NAME:-OTHERWISE}`, `$NAME`.
struct Reference {
  size_t size = 0; ///< bytes; 0: not a reference
  std::string_view sum, name;
  std::optional<std::string_view> otherwise;
};

Reference referenceAt(std::string_view text, size_t at) {
  Reference found;
  if (text.substr(at, 3) == "$((") {
    size_t end = text.find_first_of("()", at + 3);
    if (end != std::string_view::npos && text.substr(end, 2) == "))")
      found.sum = text.substr(at + 3, end - at - 3), found.size = end + 2 - at;
    return found;
  }
  bool isBraced = text.substr(at, 2) == "${";
  size_t begin = at + (isBraced ? 2 : 1), end = endOfName(text, begin);
  if (end == begin)
    return found;
  found.name = text.substr(begin, end - begin);
  if (isBraced) {
    size_t dash = end < text.size() && text[end] == ':' ? end + 1 : end, close = end;
    if (dash < text.size() && text[dash] == '-') {
      close = text.find('}', dash);
      found.otherwise = text.substr(dash + 1, close == std::string_view::npos ? 0 : close - dash - 1);
    }
    if (close >= text.size() || text[close] != '}')
      return {};
    end = close + 1;
  }
  found.size = end - at;
  return found;
}

std::string expandedTo(std::string_view text, const Variables &variables, int depth);

/// Replaces the names of variables in a sum, where they need no `$`. The result is longer than the limit of words if a value is.
std::string sumWithNumbers(std::string_view sum, const Variables &variables, int depth) {
  std::string text = expandedTo(sum, variables, depth), numbers;
  for (size_t at = 0; at < text.size() && numbers.size() <= longestShellWord;) {
    size_t end = endOfName(text, at);
    if (end == at) {
      numbers += text[at++];
      continue;
    }
    auto known = variables.find(text.substr(at, end - at));
    if (known != variables.end() && known->second.size() > longestShellWord)
      return known->second;
    numbers += known == variables.end() ? text.substr(at, end - at) : known->second;
    at = end;
  }
  return numbers;
}

std::string expandedTo(std::string_view text, const Variables &variables, int depth) {
  if (depth > deepestDefault || text.size() > longestShellWord || text.find('$') == std::string_view::npos)
    return std::string(text);
  std::string result;
  for (size_t at = 0; at < text.size();) {
    if (result.size() > longestShellWord) // each may be twice the one before
      return std::string(text);
    Reference reference = text[at] == '$' ? referenceAt(text, at) : Reference();
    if (reference.size == 0) {
      result += text[at++];
      continue;
    }
    std::string whole(text.substr(at, reference.size));
    at += reference.size;
    if (reference.name.empty()) {
      std::string numbers = sumWithNumbers(reference.sum, variables, depth + 1);
      std::optional<int64_t> value = numbers.size() > longestShellWord ? std::nullopt : sumOf(numbers);
      result += value ? std::to_string(*value) : whole;
      continue;
    }
    auto known = variables.find(std::string(reference.name));
    if (known != variables.end() && known->second.size() > longestShellWord)
      return std::string(text);
    if (known != variables.end())
      result += known->second;
    else
      result += reference.otherwise ? expandedTo(*reference.otherwise, variables, depth + 1) : whole;
  }
  return result.size() > longestShellWord ? std::string(text) : result;
}

} // namespace

std::string expanded(const std::string &text, const Variables &variables) { return expandedTo(text, variables, 0); }

size_t lengthOfAssigned(const std::string &text) {
  constexpr size_t longestName = 61;
  size_t end = endOfName(text, 0), equals = end + (end < text.size() && text[end] == '+' ? 1 : 0);
  return end > 0 && end <= longestName && equals < text.size() && text[equals] == '=' ? end : 0;
}

} // namespace npar::foreign
