// Translates the few constructs that Oniguruma and PCRE2 share; everything else is refused by name.
#include "engine/text/Pattern.h"
#include "engine/text/Unicode.h"
#include "engine/text/Utf8.h"

#include <cctype>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace npar::engine {
namespace {

// Unicode's White_Space, which is Oniguruma's \s, and its complement, both for use inside a class.
constexpr const char *spaces = R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr const char *otherThanSpaces =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027})"
    R"(\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";

/// True for general categories except C, which contains unassigned characters, and Mn, which lost one after Unicode 14.
bool isCategory(std::string_view name) {
  static const std::set<std::string_view> names = {"L",  "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "N",  "Nd", "Nl", "No", "P",  "Pc",
                                                   "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z",  "Zl", "Zp", "Zs"};
  return names.count(name) != 0;
}

/// The members of a class that are these characters.
std::string membersOf(const CharacterSet &set) {
  std::string members;
  for (auto [first, last] : set.ranges()) {
    char range[32];
    std::snprintf(range, sizeof(range), "\\x{%x}-\\x{%x}", static_cast<unsigned>(first), static_cast<unsigned>(last));
    members += range;
  }
  return members;
}

class Translator {
public:
  explicit Translator(std::string_view pattern) : text(pattern) {}

  Result<std::string> run() {
    while (at < text.size() && wrong.empty())
      outsideClass();
    if (wrong.empty())
      return out;
    return Status::badInput("the pattern '" + std::string(text) + "' has " + wrong + " at byte " + std::to_string(begun) +
                            ", which npar might match differently from the Python packages");
  }

private:
  bool follows(std::string_view what) const { return text.substr(at, what.size()) == what; }
  void refuse(std::string what) { wrong = std::move(what); }

  void outsideClass() {
    begun = at;
    char c = text[at];
    if (c == '\\')
      return escape(/*inClass=*/false);
    if (c == '[')
      return characterClass();
    if (c == '(')
      return group();
    if (c == '.' || c == '^')
      return refuse(std::string("'") + c + "'");
    if (c == '$')
      return end();
    if (c == '?' || c == '*' || c == '+')
      return quantifier();
    if (c == '{')
      return counted();
    if (c == ')' && ignoresCase.size() > 1)
      ignoresCase.pop_back();
    literal();
  }

  /// A character as it is, of one or several bytes.
  void literal() {
    size_t from = at;
    std::optional<char32_t> character = characterAt(text, at);
    if (!character)
      return refuse("a byte that is not UTF-8");
    out += text.substr(from, at - from);
    noteLiteral(*character);
  }

  /// The end of the text, or the place before a line feed.
  void end() {
    out += "(?=\\n|\\z)";
    if (++at < text.size() && std::strchr("?*+{", text[at]))
      refuse("a quantifier of '$'");
  }

  /// Where case is ignored, Oniguruma takes several characters for one: "ss" for U+00DF, "fi" for U+FB01. PCRE2 does not.
  void noteLiteral(char32_t character) {
    if (!ignoresCase.back())
      return;
    char32_t small = character >= 'A' && character <= 'Z' ? character + ('a' - 'A') : character;
    for (const char *pair : {"ss", "st", "ff", "fi", "fl"})
      if (previous == static_cast<unsigned char>(pair[0]) && small == static_cast<unsigned char>(pair[1]))
        refuse("'" + std::string(pair) + "' where case is ignored");
    if (character >= 0x80)
      refuse("a character that is not ASCII where case is ignored");
    previous = small;
  }

  /// `?`, `*` or `+`, greedy, lazy (with `?`) or possessive (with `+`): the same in both.
  void quantifier() {
    previous = 0;
    out += text[at++];
    if (at < text.size() && (text[at] == '?' || text[at] == '+'))
      out += text[at++];
    if (at < text.size() && std::strchr("?*+", text[at]))
      refuse("a quantifier of a quantifier");
  }

  /// `{n}`, `{n,}` or `{n,m}`, which nothing may follow: `{n}?` and `{n}+` differ.
  void counted() {
    size_t end = at + 1, commas = 0, digits = 0;
    while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == ',')) {
      commas += text[end] == ',';
      digits += text[end] != ',';
      ++end;
    }
    previous = 0;
    bool whole = end < text.size() && text[end] == '}' && digits > 0 && commas <= 1 && text[at + 1] != ',';
    if (!whole)
      return refuse("'{'");
    out += text.substr(at, end + 1 - at);
    at = end + 1;
    if (at < text.size() && std::strchr("?*+", text[at]))
      refuse("a quantifier of a quantifier");
  }

  void group() {
    for (std::string_view known : {"(?:", "(?i:", "(?=", "(?!", "(?>"})
      if (follows(known)) {
        ignoresCase.push_back(ignoresCase.back() || known == "(?i:");
        out += known;
        at += known.size();
        return;
      }
    if (follows("(?") || follows("(*"))
      return refuse("the group '" + std::string(text.substr(at, 3)) + "'");
    ignoresCase.push_back(ignoresCase.back());
    out += "(?:"; // captures are not used
    ++at;
  }

  void escape(bool inClass) {
    begun = at;
    if (at + 1 == text.size())
      return refuse("'\\' at its end");
    char c = text[at + 1];
    auto take = [&](const std::string &written) { out += written, at += 2, previous = 0; };
    if (c == 's' || c == 'S') {
      std::string members = c == 's' ? spaces : otherThanSpaces;
      return take(inClass ? members : "[" + members + "]");
    }
    if (c == 'p' || c == 'P')
      return property(inClass);
    if (c == 'x')
      return numbered();
    if (c == 'd' || c == 'D') {
      at += 2;
      return category("Nd", c == 'D', inClass);
    }
    if (std::strchr("rntfv", c) && c)
      return take(c == 'v' ? "\\x{b}" : std::string("\\") + c);
    if (std::strchr("0123456789uUabBeghGHkKNoORwWXyYzZAcCQELM", c) && c)
      return refuse(std::string("'\\") + c + "'");
    if (static_cast<unsigned char>(c) < 0x80 && (c < 'A' || (c > 'Z' && c < 'a') || c > 'z'))
      return take(std::string("\\") + c);
    refuse(std::string("'\\") + c + "'");
  }

  /// `\x{4e00}`; without braces it is a byte to one and a character to the other.
  void numbered() {
    size_t close = text.find('}', at);
    bool hexadecimal = follows("\\x{") && close != std::string_view::npos && close > at + 3 && close <= at + 9;
    for (size_t i = at + 3; hexadecimal && i < close; ++i)
      hexadecimal = std::isxdigit(static_cast<unsigned char>(text[i])) != 0;
    if (!hexadecimal)
      return refuse("'\\x' without its number in braces");
    out += text.substr(at, close + 1 - at);
    noteLiteral(static_cast<char32_t>(std::stoul(std::string(text.substr(at + 3, close - at - 3)), nullptr, 16)));
    at = close + 1;
  }

  void property(bool inClass) {
    size_t open = at + 2, close = text.find('}', open);
    if (open >= text.size() || text[open] != '{' || close == std::string_view::npos || close - open > 12)
      return refuse("a property without its name in braces");
    std::string_view name = text.substr(open + 1, close - open - 1);
    bool negated = !name.empty() && name[0] == '^';
    if (negated)
      name.remove_prefix(1);
    negated ^= text[at + 1] == 'P';
    if (!isCategory(name) && !setOfScript(name))
      return refuse("the property '" + std::string(name) + "'");
    if (ignoresCase.back())
      return refuse("the property '" + std::string(name) + "' where case is ignored");
    at = close + 1;
    category(name, negated, inClass);
  }

  /// A category with the characters that PCRE2 does not know, or a script.
  void category(std::string_view name, bool negated, bool inClass) {
    const CharacterSet *script = setOfScript(name), *added = addedToCategory(name);
    std::string members = script ? membersOf(*script) : "\\p{" + std::string(name) + "}" + (added ? membersOf(*added) : "");
    if (inClass && negated)
      return refuse("a negated property in a class");
    if (inClass)
      out += members;
    else
      out += (negated ? "[^" : "[") + members + "]";
  }

  bool isSet(size_t position) const {
    return position + 1 < text.size() && text[position] == '\\' && std::strchr("sSpPdD", text[position + 1]);
  }

  /// A class; classes in it that are not negated are parts of it.
  void characterClass() {
    out += text[at++];
    if (follows("^"))
      out += text[at++];
    size_t depth = 1;
    for (bool empty = true, afterSet = false; wrong.empty();) {
      begun = at, previous = 0;
      if (at == text.size())
        return refuse("a class without its end");
      char c = text[at];
      if (c == ']' && empty)
        return refuse("an empty class");
      if (c == ']') {
        ++at;
        if (--depth == 0)
          break;
        continue;
      }
      if (follows("[^") || follows("[:") || follows("&&"))
        return refuse(c == '&' ? "an intersection of classes" : "the class '" + std::string(text.substr(at, 2)) + "' in a class");
      if (c == '[') {
        ++at, ++depth;
        empty = true, afterSet = false;
        continue;
      }
      if (c == '-' && !empty && at + 1 < text.size() && text[at + 1] != ']' && (afterSet || isSet(at + 1)))
        return refuse("a range from or to a set");
      afterSet = isSet(at);
      if (c == '-' && (empty || (at + 1 < text.size() && text[at + 1] == ']')))
        out += "\\-", ++at; // a hyphen, also where the class is a part of another one
      else if (c == '\\')
        escape(/*inClass=*/true);
      else
        literal();
      empty = false;
    }
    out += ']';
    previous = 0;
  }

  std::string_view text;
  size_t at = 0, begun = 0;
  std::string out, wrong;
  std::vector<bool> ignoresCase = {false}; ///< in the groups around this place
  char32_t previous = 0;                   ///< the literal before this place, if case is ignored
};

} // namespace

Result<std::string> translatePattern(std::string_view pattern) { return Translator(pattern).run(); }

} // namespace npar::engine
