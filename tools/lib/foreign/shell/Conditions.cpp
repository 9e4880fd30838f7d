// Two parsers share the comparisons: `[` gets words that were expanded, `[[` expands each word by what it is compared with.
#include "tools/lib/foreign/shell/Conditions.h"

#include <optional>
#include <set>
#include <string_view>

namespace npar::foreign::shell {
namespace {

constexpr int failed = 2; ///< exit code for a condition that makes no sense

ExitCode known(bool isTrue) { return {isTrue ? 0 : 1, nullptr}; }
ExitCode unknown(UnknownPointer why) { return {1, std::move(why)}; }

ExitCode negated(ExitCode code) {
  if (!code.unknown && code.code != failed)
    code.code = code.code == 0;
  return code;
}

const std::set<std::string> unaryTests = {"-z", "-n", "-v", "-f", "-d", "-e", "-s", "-r", "-w", "-x",
                                          "-h", "-L", "-p", "-t", "-a", "-b", "-c", "-S", "-O", "-G"};
const std::set<std::string> binaryTests = {"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "=~"};

bool isNumeric(std::string_view op) { return op == "-eq" || op == "-ne" || op == "-lt" || op == "-le" || op == "-gt" || op == "-ge"; }

bool compares(std::string_view op, int64_t a, int64_t b) {
  return op == "-eq" ? a == b : op == "-ne" ? a != b : op == "-lt" ? a < b : op == "-le" ? a <= b : op == "-gt" ? a > b : a >= b;
}

/// The text in which variables that nothing sets count as empty; nothing if other parts are unknown. `last`: such a variable.
std::optional<std::string> withoutUnset(const Text &text, const Unknown *&last) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const Unknown *why = text.unknownAt(i);
    if (why && !why->isUnset)
      return std::nullopt;
    if (why)
      last = why;
    else
      result += text.str()[i];
  }
  return result;
}

/// Whether the text is empty. A variable that nothing sets is: the script asks because it has an answer.
ExitCode emptiness(const Text &text, Environment &environment) {
  const Unknown *unset = nullptr;
  std::optional<std::string> rest = withoutUnset(text, unset);
  if (!rest) {
    for (size_t i = 0; i < text.size(); ++i)
      if (!text.unknownAt(i))
        return known(false);
    return unknown(text.unknown());
  }
  if (unset && rest->empty())
    environment.assumeUnset(*unset);
  return known(rest->empty());
}

ExitCode equality(const Text &a, const Text &b, Environment &environment) {
  if (a == b)
    return known(true);
  UnknownPointer whyA = a.unknown(), whyB = b.unknown();
  if (!whyA && !whyB)
    return known(a.str() == b.str());
  if (whyA && whyB)
    return unknown(whyA);
  const Unknown *unset = nullptr;
  std::optional<std::string> rest = withoutUnset(whyA ? a : b, unset);
  if (!rest || *rest != (whyA ? b : a).str())
    return unknown(whyA ? whyA : whyB);
  environment.assumeUnset(*unset);
  return known(true);
}

std::optional<int64_t> numberOf(const std::string &text) {
  size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  if (begin == std::string::npos)
    return std::nullopt;
  std::string digits = text.substr(begin, end + 1 - begin);
  size_t sign = digits[0] == '-' || digits[0] == '+' ? 1 : 0;
  if (digits.size() == sign || digits.size() > sign + 18 || digits.find_first_not_of("0123456789", sign) != std::string::npos)
    return std::nullopt;
  return std::stoll(digits);
}

ExitCode fileTest(const std::string &op, const Text &path, const Environment &environment, Origin at) {
  if (!path.unknown() && path.empty())
    return known(false);
  auto file = environment.state.files.find(path.str());
  if (file != environment.state.files.end() && (op == "-f" || op == "-e" || op == "-r" || op == "-a"))
    return known(true);
  Unknown why;
  why.at = at;
  why.why = "'" + op + " " + path.str().substr(0, 60) + "', which asks about files of the machine";
  return unknown(std::make_shared<Unknown>(std::move(why)));
}

ExitCode unary(const std::string &op, const Text &text, Environment &environment, Origin at) {
  if (op == "-z")
    return emptiness(text, environment);
  if (op == "-n")
    return negated(emptiness(text, environment));
  if (op != "-v")
    return fileTest(op, text, environment, at);
  if (text.unknown())
    return unknown(text.unknown());
  std::string name = text.str().substr(0, text.str().find('['));
  if (environment.find(name) || environment.isUnset(name))
    return known(environment.find(name) != nullptr);
  UnknownPointer why = environment.unsetReason(name, at);
  if (why->isUnset)
    environment.assumeUnset(*why);
  return why->isUnset ? known(false) : unknown(why);
}

/// The part that `[` and `[[` have in common; `b` is no pattern.
ExitCode binary(const Text &a, const std::string &op, const Text &b, Environment &environment, Origin at) {
  if (op == "=" || op == "==")
    return equality(a, b, environment);
  if (op == "!=")
    return negated(equality(a, b, environment));
  if (a.unknown() || b.unknown())
    return unknown(a.unknown() ? a.unknown() : b.unknown());
  if (op == "<" || op == ">")
    return known(op == "<" ? a.str() < b.str() : a.str() > b.str());
  if (!isNumeric(op))
    return fileTest(op, a, environment, at);
  std::optional<int64_t> x = numberOf(a.str()), y = numberOf(b.str());
  return x && y ? known(compares(op, *x, *y)) : ExitCode{failed, nullptr};
}

ExitCode both(const ExitCode &a, const ExitCode &b, bool isAnd) {
  for (const ExitCode &one : {a, b})
    if (!one.unknown && (one.code == 0) != isAnd)
      return one;
  return a.unknown ? a : b;
}

class Bracket {
public:
  Bracket(const std::vector<Text> &words, Environment &environment, Origin place) : words(words), environment(environment), place(place) {}
  ExitCode whole() {
    if (words.empty())
      return known(false);
    ExitCode result = either();
    return at == words.size() ? result : ExitCode{failed, nullptr};
  }

private:
  bool is(size_t index, const char *word) const { return index < words.size() && !words[index].unknown() && words[index].str() == word; }
  bool isBinary(size_t index) const {
    return index + 1 < words.size() && !words[index].unknown() && binaryTests.count(words[index].str()) && words[index].str() != "=~";
  }

  ExitCode either() {
    ExitCode result = all();
    while (is(at, "-o") && ++at < words.size())
      result = both(result, all(), false);
    return result;
  }
  ExitCode all() {
    ExitCode result = one();
    while (is(at, "-a") && ++at < words.size())
      result = both(result, one(), true);
    return result;
  }
  ExitCode one() {
    if (at >= words.size() || !environment.spend(1, place) || depth > deepestShellCalls)
      return {failed, nullptr};
    if (isBinary(at + 1)) {
      at += 3;
      return binary(words[at - 3], words[at - 2].str(), words[at - 1], environment, place);
    }
    if (is(at, "!") && at + 1 < words.size()) {
      ++at, ++depth;
      ExitCode result = negated(one());
      --depth;
      return result;
    }
    if (is(at, "(") && at + 2 < words.size()) {
      ++at, ++depth;
      ExitCode result = either();
      --depth;
      if (!is(at, ")"))
        return {failed, nullptr};
      ++at;
      return result;
    }
    if (at + 1 < words.size() && !words[at].unknown() && unaryTests.count(words[at].str())) {
      at += 2;
      return unary(words[at - 2].str(), words[at - 1], environment, place);
    }
    return negated(emptiness(words[at++], environment));
  }

  const std::vector<Text> &words;
  Environment &environment;
  Origin place;
  size_t at = 0;
  int depth = 0;
};

/// A regular expression of plain characters, `.`, `.*`, `^` and `$` as a pattern.
std::optional<Pattern> patternOf(const std::string &expression) {
  Pattern pattern;
  size_t begin = 0, end = expression.size();
  bool isAtBegin = end > 0 && expression[0] == '^', isAtEnd = end > 1 && expression[end - 1] == '$' && expression[end - 2] != '\\';
  if (!isAtBegin)
    pattern.add("*");
  for (begin += isAtBegin ? 1 : 0, end -= isAtEnd ? 1 : 0; begin < end; ++begin) {
    char c = expression[begin];
    if (std::string_view("[](){}+?|$^*\"'`").find(c) != std::string_view::npos)
      return std::nullopt;
    if (c == '\\' && begin + 1 < end) {
      pattern.addLiteral(expression.substr(++begin, 1));
    } else if (c == '.') {
      bool isMany = begin + 1 < end && expression[begin + 1] == '*';
      pattern.add(isMany ? "*" : "?");
      begin += isMany ? 1 : 0;
    } else {
      pattern.addLiteral(expression.substr(begin, 1));
    }
  }
  if (!isAtEnd)
    pattern.add("*");
  return pattern;
}

class DoubleBracket {
public:
  DoubleBracket(const Test &test, const Unit &unit, Expander &expander, Environment &environment)
      : words(test.words), unit(unit), expander(expander), environment(environment) {}
  ExitCode whole() {
    ExitCode result = either();
    return at == words.size() && !words.empty() ? result : ExitCode{failed, nullptr};
  }

private:
  bool is(size_t index, const char *word) const { return index < words.size() && words[index].plain() == word; }

  ExitCode either() {
    ExitCode result = all();
    while (is(at, "||"))
      ++at, result = both(result, all(), false);
    return result;
  }
  ExitCode all() {
    ExitCode result = one();
    while (is(at, "&&"))
      ++at, result = both(result, one(), true);
    return result;
  }
  ExitCode one() {
    if (at >= words.size() || depth > deepestShellCalls)
      return {failed, nullptr};
    Origin place = unit.source.originAt(words[at].begin);
    if (!environment.spend(1, place))
      return {failed, nullptr};
    if (is(at, "!")) {
      ++at, ++depth;
      ExitCode result = negated(one());
      --depth;
      return result;
    }
    if (is(at, "(")) {
      ++at, ++depth;
      ExitCode result = either();
      --depth;
      if (!is(at, ")"))
        return {failed, nullptr};
      ++at;
      return result;
    }
    std::string op = at + 2 < words.size() ? words[at + 1].plain() : "";
    if (binaryTests.count(op)) {
      at += 3;
      return compared(words[at - 3], op, words[at - 1], place);
    }
    if (std::string sign = words[at].plain(); at + 1 < words.size() && unaryTests.count(sign)) {
      at += 2;
      return unary(sign, expander.text(words[at - 1], unit), environment, place);
    }
    return negated(emptiness(expander.text(words[at++], unit), environment));
  }

  ExitCode compared(const Word &left, const std::string &op, const Word &right, Origin place) {
    if (isNumeric(op)) {
      Number a = expander.sum(left, unit), b = expander.sum(right, unit);
      return a.unknown || b.unknown ? unknown(a.unknown ? a.unknown : b.unknown) : known(compares(op, a.value, b.value));
    }
    Text a = expander.text(left, unit);
    if (op == "=~")
      return regular(a, right.plain(), place);
    if (op != "=" && op != "==" && op != "!=")
      return binary(a, op, expander.text(right, unit), environment, place);
    KnownPattern pattern = expander.pattern(right, unit);
    Text b = expander.text(right, unit);
    if (a.unknown() || pattern.unknown) {
      ExitCode result = equality(a, b, environment);
      return op == "!=" ? negated(result) : result;
    }
    size_t steps = 0;
    bool matches = pattern.pattern.matches(a.str(), steps);
    return environment.spend(steps, place) ? known(matches == (op != "!=")) : ExitCode{failed, nullptr};
  }

  ExitCode regular(const Text &a, const std::string &expression, Origin place) {
    if (a.unknown())
      return unknown(a.unknown());
    if (expression == "^[0-9]+$")
      return known(!a.empty() && a.str().find_first_not_of("0123456789") == std::string::npos);
    std::optional<Pattern> pattern = patternOf(expression);
    size_t steps = 0;
    if (bool matches = pattern && pattern->matches(a.str(), steps); pattern && environment.spend(steps, place))
      return known(matches);
    Unknown why;
    why.at = place, why.why = "a regular expression, which npar does not follow";
    return unknown(std::make_shared<Unknown>(std::move(why)));
  }

  const std::vector<Word> &words;
  const Unit &unit;
  Expander &expander;
  Environment &environment;
  size_t at = 0;
  int depth = 0;
};

} // namespace

ExitCode testOf(const std::vector<Text> &arguments, Environment &environment, Origin at) {
  return Bracket(arguments, environment, at).whole();
}

ExitCode testOf(const Test &test, const Unit &unit, Expander &expander, Environment &environment) {
  return DoubleBracket(test, unit, expander, environment).whole();
}

} // namespace npar::foreign::shell
