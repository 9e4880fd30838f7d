// Sums of numbers and texts, lists, dictionaries, names that are bound to such values, calls.
#include "tools/lib/foreign/python/Expressions.h"

#include <algorithm>
#include <cstdlib>

namespace npar::foreign::python {
namespace {

using Kind = Value::Kind;

constexpr size_t longestText = 100'000; ///< bytes of a text that is put together
constexpr size_t largestMap = 2000;     ///< keys
constexpr size_t longestList = 10'000;  ///< items
constexpr const char *howToGive = "put the value itself there, in a copy of the file";

ValuePointer made(Value value) { return std::make_shared<const Value>(std::move(value)); }

ValuePointer word(std::string text, dsl::Location at, Kind kind = Kind::Word) {
  Value value;
  value.kind = kind, value.text = std::move(text), value.at = at;
  return made(std::move(value));
}

/// The map with a key set to another value. Keeps the place of a key that it has.
Value with(Value map, const std::string &key, const ValuePointer &value, dsl::Location at) {
  auto known = std::find_if(map.entries.begin(), map.entries.end(), [&](const auto &entry) { return entry.first == key; });
  if (known == map.entries.end()) {
    map.entries.emplace_back(key, value), map.places.push_back(at);
  } else {
    map.places[static_cast<size_t>(known - map.entries.begin())] = at;
    known->second = value;
  }
  map.depth = std::max(map.depth, value->depth + 1);
  return map;
}

/// A whole number of at most twelve digits, so that products fit.
std::optional<int64_t> wholeOf(const Value &value) {
  const std::string &text = value.text;
  const size_t digits = text.size() - (text.rfind('-', 0) == 0 ? 1 : 0);
  if (value.kind != Kind::Word || digits == 0 || digits > 12 ||
      text.find_first_not_of("0123456789", text.size() - digits) != std::string::npos)
    return std::nullopt;
  return std::stoll(text);
}

} // namespace

ValuePointer unknownValue(const std::string &why, dsl::Location at) {
  Value value;
  value.kind = Kind::Unknown, value.at = at;
  value.why.why = why, value.why.help = howToGive, value.why.at = at;
  return made(std::move(value));
}

void ExpressionReader::add(Value &map, const std::string &key, const ValuePointer &value, dsl::Location at) {
  if (map.kind != Kind::Map)
    return;
  work += map.entries.size() + 1;
  if (map.entries.size() >= largestMap)
    map.kind = Kind::Unknown, map.why.why = "a dictionary of more than 2000 keys", map.why.help = howToGive, map.why.at = at;
  else
    map = with(std::move(map), key, value, at);
}

Value ExpressionReader::merged(Value map, const Value &other) {
  for (size_t i = 0; i < other.entries.size(); ++i)
    add(map, other.entries[i].first, other.entries[i].second, other.places[i]);
  return map;
}

bool ExpressionReader::is(const char *text, size_t ahead) const {
  const Token &token = now(ahead);
  return (token.kind == Token::Kind::Operator || token.kind == Token::Kind::Name) && token.text == text;
}

const ValuePointer *ExpressionReader::find(const std::string &name) const {
  auto known = result.names.find(name);
  return known == result.names.end() ? nullptr : &known->second;
}

void ExpressionReader::skipExpression() {
  for (size_t open = 0; !endsStatement(); ++place) {
    if (is("(") || is("[") || is("{"))
      ++open;
    else if ((is(")") || is("]") || is("}")) && open-- == 0)
      return;
    else if (open == 0 && (is(",") || is(":")))
      return;
  }
}

ValuePointer ExpressionReader::noLiteral(dsl::Location at, size_t begin) {
  place = begin;
  skipExpression();
  std::string text;
  for (size_t i = begin; i < place && text.size() < 40; ++i)
    text += (text.empty() || tokens[i].kind == Token::Kind::Operator || tokens[i - 1].kind == Token::Kind::Operator ? "" : " ") +
            (tokens[i].kind == Token::Kind::String ? "\"" + tokens[i].text.substr(0, 40) + "\"" : tokens[i].text.substr(0, 40));
  return unknownValue("'" + text.substr(0, 60) + "', which is no literal", at);
}

ValuePointer ExpressionReader::value() {
  const size_t begin = place;
  const dsl::Location at = now().at;
  if (++level > deepestValue) {
    ValuePointer result = noLiteral(at, begin);
    --level;
    return result;
  }
  ValuePointer left = product();
  while (left && !endsExpression()) {
    const bool isSum = is("+"), isDifference = is("-");
    if (!isSum && !isDifference)
      break;
    ++place;
    ValuePointer right = product();
    left = right ? sum(*left, *right, isDifference, at) : nullptr;
  }
  const bool isWhole = left && endsExpression() && left->depth <= deepestValue;
  --level;
  if (!isWhole)
    return noLiteral(at, begin);
  return left;
}

ValuePointer ExpressionReader::sum(const Value &left, const Value &right, bool isDifference, dsl::Location at) {
  std::optional<int64_t> a = wholeOf(left), b = wholeOf(right);
  if (a && b)
    return word(std::to_string(isDifference ? *a - *b : *a + *b), at);
  if (isDifference || left.kind != Kind::Text || right.kind != Kind::Text || left.text.size() + right.text.size() > longestText)
    return nullptr;
  return word(left.text + right.text, at, Kind::Text);
}

ValuePointer ExpressionReader::product() {
  const dsl::Location at = now().at;
  ValuePointer left = primary();
  while (left && (is("*") || is("//"))) {
    const bool divides = is("//");
    ++place;
    ValuePointer right = primary();
    std::optional<int64_t> a = wholeOf(*left), b = right ? wholeOf(*right) : std::nullopt;
    const bool isSmall = a && b && std::abs(*a) < 1'000'000'000 && std::abs(*b) < 1'000'000'000;
    if (!isSmall || (divides && (*b <= 0 || *a < 0)))
      return nullptr;
    left = word(std::to_string(divides ? *a / *b : *a * *b), at);
  }
  return left;
}

ValuePointer ExpressionReader::primary() {
  const Token token = now();
  if (token.kind == Token::Kind::String)
    return text();
  if (token.kind == Token::Kind::Number) {
    ++place;
    return word(token.text, token.at);
  }
  if (is("-") && now(1).kind == Token::Kind::Number) {
    place += 2;
    return word("-" + tokens[place - 1].text, token.at);
  }
  if (is("{"))
    return map();
  if (is("[") || is("("))
    return list();
  return token.kind == Token::Kind::Name ? named() : nullptr;
}

ValuePointer ExpressionReader::text() {
  const dsl::Location at = now().at;
  std::string all;
  bool isFormatted = false;
  for (; now().kind == Token::Kind::String; ++place)
    all += now().text, isFormatted = isFormatted || now().isFormatted;
  if (isFormatted)
    return unknownValue("'" + all.substr(0, 60) + "', whose braces are filled in when it runs", at);
  return all.size() > longestText ? nullptr : word(std::move(all), at, Kind::Text);
}

ValuePointer ExpressionReader::named() {
  const Token token = now();
  if (token.text == "None" || token.text == "True" || token.text == "False") {
    ++place;
    return token.text == "None" ? made(Value{Kind::None, "", {}, {}, {}, {}, token.at, 1})
                                : word(token.text == "True" ? "true" : "false", token.at);
  }
  std::string name = token.text;
  for (++place; is(".") && isName(1); place += 2)
    name = now(1).text;
  const bool isPlain = tokens[place - 1].at.column == token.at.column && tokens[place - 1].at.line == token.at.line;
  if (is("(")) {
    ++place;
    ValuePointer given = arguments();
    if (is(")"))
      ++place;
    if (isPlain && name == "dict" && endsExpression())
      return given;
    result.calls.push_back({name, token.at, given});
    return nullptr;
  }
  if (!isPlain || !endsExpression())
    return isPlain && (is("+") || is("-") || is("*") || is("//")) ? lookedUp(token) : nullptr;
  return lookedUp(token);
}

ValuePointer ExpressionReader::lookedUp(const Token &token) const {
  const ValuePointer *known = find(token.text);
  return known ? *known : unknownValue("'" + token.text.substr(0, 60) + "', which the file does not set to a literal", token.at);
}

ValuePointer ExpressionReader::arguments() {
  Value map;
  map.kind = Kind::Map, map.at = now().at;
  while (!endsStatement() && !is(")")) {
    const size_t before = place;
    if (isName() && is("=", 1)) {
      const Token name = now();
      place += 2;
      add(map, name.text, value(), name.at);
    } else if (is("**")) {
      ++place;
      if (ValuePointer more = value(); more->kind == Kind::Map)
        map = merged(std::move(map), *more);
    } else {
      if (is("*"))
        ++place;
      value();
    }
    if (is(",") || is(":"))
      ++place;
    else if (place == before)
      ++place; // no Python
  }
  return made(std::move(map));
}

ValuePointer ExpressionReader::list() {
  const bool isTuple = is("(");
  Value list;
  list.kind = Kind::List, list.at = now().at;
  bool hasComma = false;
  for (++place; !endsStatement() && !is(isTuple ? ")" : "]");) {
    list.items.push_back(value());
    list.depth = std::max(list.depth, list.items.back()->depth + 1);
    if (list.items.size() > longestList)
      return nullptr;
    if (is(","))
      ++place, hasComma = true;
    else if (!is(isTuple ? ")" : "]"))
      return nullptr;
  }
  if (!endsStatement())
    ++place;
  if (isTuple && !hasComma && list.items.size() == 1)
    return list.items.front();
  return made(std::move(list));
}

ValuePointer ExpressionReader::map() {
  Value map;
  map.kind = Kind::Map, map.at = now().at;
  for (++place; !endsStatement() && !is("}");) {
    if (is("**")) {
      ++place;
      ValuePointer more = value();
      if (more->kind != Kind::Map)
        return nullptr;
      map = merged(std::move(map), *more);
    } else {
      ValuePointer key = value();
      if ((key->kind != Kind::Text && key->kind != Kind::Word) || !is(":"))
        return nullptr;
      ++place;
      add(map, key->text, value(), key->at);
    }
    if (is(","))
      ++place;
    else if (!is("}"))
      return nullptr;
  }
  if (!endsStatement())
    ++place;
  return made(std::move(map));
}

} // namespace npar::foreign::python
