// Computes while it parses, by the precedence of operators.
#include "tools/lib/foreign/shell/Arithmetic.h"

#include "tools/lib/foreign/shell/Characters.h"

#include <array>
#include <limits>
#include <string_view>

namespace npar::foreign::shell {
namespace {

constexpr int deepestSum = 64; ///< parentheses and names in each other

struct Operator {
  std::string_view text;
  int precedence;
};
/// The longest come first. Assignments and `?` are apart.
constexpr std::array<Operator, 18> binaries = {{{"**", 11},
                                                {"<<", 8},
                                                {">>", 8},
                                                {"<=", 7},
                                                {">=", 7},
                                                {"==", 6},
                                                {"!=", 6},
                                                {"&&", 2},
                                                {"||", 1},
                                                {"*", 10},
                                                {"/", 10},
                                                {"%", 10},
                                                {"+", 9},
                                                {"-", 9},
                                                {"<", 7},
                                                {">", 7},
                                                {"&", 5},
                                                {"^", 4}}};
constexpr Operator bitOr = {"|", 3};
constexpr int power = 11;
constexpr std::array<std::string_view, 11> assignments = {"<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "="};

int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }

class Computation {
public:
  Computation(const Text &text, Environment &environment, Origin at, int depth)
      : text(text), all(text.str()), environment(environment), place(at), depth(depth) {}

  Number whole() {
    if (all.find_first_not_of(" \t\r\n") == std::string::npos)
      return {};
    Number result = comma();
    skip();
    if (at < all.size())
      return wrong("npar does not follow this sum");
    return problem ? Number{0, problem} : result;
  }

private:
  Number wrong(const std::string &why) {
    if (!problem) {
      Unknown unknown;
      unknown.at = place, unknown.why = "a sum: " + why;
      problem = std::make_shared<Unknown>(std::move(unknown));
    }
    at = all.size();
    return {0, problem};
  }
  void skip() {
    while (at < all.size() && (all[at] == ' ' || all[at] == '\t' || all[at] == '\n' || all[at] == '\r'))
      ++at;
  }
  bool take(std::string_view word) {
    skip();
    if (all.compare(at, word.size(), word) != 0)
      return false;
    at += word.size();
    return true;
  }

  Number comma() {
    Number result = choice();
    while (take(","))
      result = choice();
    return result;
  }

  Number choice() {
    if (++depth > deepestSum || !environment.spend(1, place))
      return wrong("it is nested more than " + std::to_string(deepestSum) + " deep");
    Number condition = binary(0), result = condition;
    if (take("?")) {
      bool outer = isSkipped;
      isSkipped = outer || condition.unknown || condition.value == 0;
      Number yes = choice();
      if (!take(":"))
        return wrong("':' is missing");
      isSkipped = outer || condition.unknown || condition.value != 0;
      Number no = choice();
      isSkipped = outer;
      result = condition.unknown ? condition : condition.value != 0 ? yes : no;
    }
    --depth;
    return result;
  }

  const Operator *peekBinary() {
    skip();
    std::string_view rest = std::string_view(all).substr(at);
    for (const Operator &one : binaries)
      if (rest.substr(0, one.text.size()) == one.text)
        return rest.substr(one.text.size(), 1) == "=" && one.precedence != 6 && one.text.back() != '=' && one.text != "<" &&
                       one.text != ">" && one.text != "&&" && one.text != "||"
                   ? nullptr // an assignment
                   : &one;
    return rest.substr(0, 1) == "|" && rest.substr(1, 1) != "=" ? &bitOr : nullptr;
  }

  Number binary(int least) {
    Number left = unary();
    for (const Operator *op = peekBinary(); op && op->precedence >= least; op = peekBinary()) {
      if (!environment.spend(1, place))
        return wrong("it is too long");
      at += op->text.size();
      bool outer = isSkipped;
      if (op->text == "&&" || op->text == "||")
        isSkipped = outer || left.unknown || (left.value != 0) == (op->text == "||");
      Number right;
      if (op->precedence == power) { // to the right first
        if (++depth > deepestSum)
          return wrong("it is nested too deep");
        right = binary(power);
        --depth;
      } else {
        right = binary(op->precedence + 1);
      }
      isSkipped = outer;
      left = computed(op->text, left, right);
    }
    return left;
  }

  Number computed(std::string_view op, const Number &a, const Number &b) {
    if (op == "&&" || op == "||") {
      bool decides = !a.unknown && (a.value != 0) == (op == "||");
      if (decides || a.unknown)
        return a.unknown ? a : Number{op == "||"};
      return b.unknown ? b : Number{b.value != 0};
    }
    if (isSkipped)
      return {};
    if (a.unknown || b.unknown)
      return a.unknown ? a : b;
    uint64_t x = static_cast<uint64_t>(a.value), y = static_cast<uint64_t>(b.value);
    switch (op[0]) {
    case '+':
      return {wrapped(x + y)};
    case '-':
      return {wrapped(x - y)};
    case '*':
      return op == "**" ? raised(a.value, b.value) : Number{wrapped(x * y)};
    case '/':
    case '%':
      if (b.value == 0)
        return wrong("a division by zero");
      if (b.value == -1)
        return {op == "/" ? wrapped(0 - x) : 0};
      return {op == "/" ? a.value / b.value : a.value % b.value};
    case '<':
      return {op == "<<" ? wrapped(x << (y & 63)) : op == "<=" ? a.value <= b.value : a.value < b.value};
    case '>':
      return {op == ">>" ? a.value >> (y & 63) : op == ">=" ? a.value >= b.value : a.value > b.value};
    case '=':
      return {a.value == b.value};
    case '!':
      return {a.value != b.value};
    case '&':
      return {wrapped(x & y)};
    case '^':
      return {wrapped(x ^ y)};
    default:
      return {wrapped(x | y)};
    }
  }

  Number raised(int64_t base, int64_t exponent) {
    if (exponent < 0)
      return wrong("a negative exponent");
    uint64_t result = 1, square = static_cast<uint64_t>(base);
    for (uint64_t bits = static_cast<uint64_t>(exponent); bits != 0; bits >>= 1, square *= square)
      if (bits & 1)
        result *= square;
    return {wrapped(result)};
  }

  Number unary() {
    skip();
    if (++depth > deepestSum)
      return wrong("it is nested more than " + std::to_string(deepestSum) + " deep");
    Number result;
    char c = at < all.size() ? all[at] : '\0', after = at + 1 < all.size() ? all[at + 1] : '\0';
    if (at < all.size() && text.unknownAt(at)) {
      result = unknownPiece();
    } else if ((c == '+' || c == '-') && after == c) {
      at += 2;
      result = changed(c == '+' ? 1 : -1);
    } else if (c == '+' || c == '-' || c == '!' || c == '~') {
      ++at;
      result = unary();
      if (c == '-')
        result.value = wrapped(0 - static_cast<uint64_t>(result.value));
      else if (c == '!')
        result.value = result.value == 0;
      else if (c == '~')
        result.value = ~result.value;
    } else if (c == '(') {
      ++at;
      result = comma();
      if (!take(")"))
        return wrong("')' is missing");
    } else if (c >= '0' && c <= '9') {
      result = literal();
    } else if (isWord(c)) {
      result = variable();
    } else {
      return wrong("a number is missing");
    }
    --depth;
    return result;
  }

  Number unknownPiece() {
    auto piece = text.slice(at, at + 1).unknown();
    while (at < all.size() && text.unknownAt(at))
      ++at;
    if (at < all.size() && isWord(all[at])) // digits or letters of the same number or name
      while (at < all.size() && isWord(all[at]))
        ++at;
    return {0, piece};
  }

  Number literal() {
    size_t end = at;
    while (end < all.size() && (isWord(all[end]) || all[end] == '#' || all[end] == '@') && !text.unknownAt(end))
      ++end;
    if (end < all.size() && text.unknownAt(end)) {
      at = end;
      return unknownPiece();
    }
    std::string_view word = std::string_view(all).substr(at, end - at);
    uint64_t base = 10, value = 0;
    size_t digits = 0, sharp = word.find('#');
    if (sharp != std::string_view::npos) {
      base = 0;
      for (char c : word.substr(0, sharp))
        base = c >= '0' && c <= '9' && base < 100 ? base * 10 + static_cast<uint64_t>(c - '0') : 100;
      digits = sharp + 1;
    } else if (word.size() > 1 && word[0] == '0') {
      base = word[1] == 'x' || word[1] == 'X' ? 16 : 8, digits = base == 16 ? 2 : 1;
    }
    if (base < 2 || base > 64 || digits == word.size())
      return wrong("'" + std::string(word.substr(0, 60)) + "' is no number");
    for (char c : word.substr(digits)) {
      uint64_t digit = c >= '0' && c <= '9'   ? static_cast<uint64_t>(c - '0')
                       : c >= 'a' && c <= 'z' ? static_cast<uint64_t>(c - 'a') + 10
                       : c >= 'A' && c <= 'Z' ? static_cast<uint64_t>(c - 'A') + (base <= 36 ? 10 : 36)
                       : c == '@'             ? 62
                       : c == '_'             ? 63
                                              : 64;
      if (digit >= base)
        return wrong("'" + std::string(word.substr(0, 60)) + "' is no number");
      value = value * base + digit;
    }
    at = end;
    return {wrapped(value)};
  }

  /// A name, and its element if brackets follow.
  struct Target {
    std::string name, key;
    Number index;
    bool isMap = false;
  };
  Target target() {
    Target target;
    size_t end = at;
    while (end < all.size() && isWord(all[end]) && !text.unknownAt(end))
      ++end;
    target.name = all.substr(at, end - at), at = end;
    if (at < all.size() && all[at] == '[') {
      const Variable *variable = environment.find(target.name);
      size_t close = all.find(']', ++at);
      if (variable && variable->kind == Variable::Kind::Map && close != std::string::npos) {
        target.isMap = true, target.key = all.substr(at, close - at), at = close + 1;
      } else {
        target.index = comma();
        if (!take("]"))
          wrong("']' is missing");
      }
    }
    return target;
  }

  Number valueOf(const Target &target) {
    if (isSkipped)
      return {};
    const Variable *variable = environment.find(target.name);
    if (!variable)
      return environment.isUnset(target.name) ? Number{} : Number{0, environment.unsetReason(target.name, place)};
    if (variable->unknown || target.index.unknown)
      return {0, variable->unknown ? variable->unknown : target.index.unknown};
    const Text *value = nullptr;
    if (auto known = variable->list.find(variable->place(target.index.value)); !target.isMap && known != variable->list.end())
      value = &known->second;
    if (auto known = variable->map.find(target.key); target.isMap && known != variable->map.end())
      value = &known->second;
    if (!value)
      return {};
    if (value->unknown())
      return {0, value->unknown()};
    if (!environment.spend(1 + value->weight(), place))
      return {};
    Text copy = *value;
    return Computation(copy, environment, place, depth).whole();
  }

  void set(const Target &target, const Number &value) {
    if (isSkipped)
      return;
    Text text = value.unknown ? Text::unknown("${" + target.name + "}", value.unknown) : Text(std::to_string(value.value), place);
    const Variable *known = environment.find(target.name);
    Variable variable = known ? *known : Variable();
    if (!environment.spend(1 + 20 * (variable.list.size() + variable.map.size()), place))
      return;
    if (target.index.unknown)
      variable.unknown = target.index.unknown;
    else if (target.isMap)
      variable.map[target.key] = text;
    else
      variable.list[variable.place(target.index.value)] = text;
    environment.assign(target.name, std::move(variable));
  }

  Number change(const Target &name, Number value, int64_t by) {
    value.value = wrapped(static_cast<uint64_t>(value.value) + static_cast<uint64_t>(by));
    set(name, value);
    return value;
  }

  /// `++NAME` and `--NAME`.
  Number changed(int64_t by) {
    skip();
    if (at >= all.size() || !isWord(all[at]))
      return wrong("a name is missing");
    Target name = target();
    return change(name, valueOf(name), by);
  }

  Number variable() {
    Target name = target();
    skip();
    std::string_view rest = std::string_view(all).substr(at);
    if (rest.substr(0, 2) == "++" || rest.substr(0, 2) == "--") {
      at += 2;
      Number old = valueOf(name);
      change(name, old, rest[0] == '+' ? 1 : -1);
      return old;
    }
    for (std::string_view op : assignments) {
      if (rest.substr(0, op.size()) != op || (op == "=" && rest.substr(0, 2) == "=="))
        continue;
      at += op.size();
      Number old = op == "=" ? Number() : valueOf(name), value = choice(); // which may change the old one
      if (op != "=")
        value = computed(op.substr(0, op.size() - 1), old, value);
      set(name, value);
      return value;
    }
    return valueOf(name);
  }

  const Text &text;
  const std::string &all;
  Environment &environment;
  Origin place;
  int depth;
  size_t at = 0;
  bool isSkipped = false; ///< inside of what the condition before excludes
  UnknownPointer problem;
};

} // namespace

Number sumOf(const Text &expression, Environment &environment, Origin at) { return Computation(expression, environment, at, 0).whole(); }

} // namespace npar::foreign::shell
