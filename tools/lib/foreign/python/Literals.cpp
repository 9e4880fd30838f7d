// Parses expressions by recursive descent, and statements by their first words. Unknown syntax is skipped to the next comma
// or closing bracket of the same level.
#include "tools/lib/foreign/python/Literals.h"

#include "tools/lib/foreign/python/Tokens.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace npar::foreign::python {
namespace {

using Kind = Value::Kind;

constexpr size_t deepest = 32;          ///< levels of brackets in the text
constexpr size_t longestText = 100'000; ///< bytes of a text that is put together
constexpr size_t largestMap = 2000;     ///< keys
constexpr size_t longestList = 10'000;  ///< items
constexpr size_t mostWork = 20'000'000; ///< keys of maps that are compared or copied
constexpr const char *howToGive = "put the value itself there, in a copy of the file";

ValuePointer made(Value value) { return std::make_shared<const Value>(std::move(value)); }

ValuePointer word(std::string text, dsl::Location at, Kind kind = Kind::Word) {
  Value value;
  value.kind = kind, value.text = std::move(text), value.at = at;
  return made(std::move(value));
}

ValuePointer unknown(const std::string &why, dsl::Location at) {
  Value value;
  value.kind = Kind::Unknown, value.at = at;
  value.why.why = why, value.why.help = howToGive, value.why.at = at;
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

class Reader {
public:
  explicit Reader(std::vector<Token> all) : tokens(std::move(all)) {}

  Literals run() {
    while (now().kind != Token::Kind::End && work <= mostWork) {
      if (now().kind == Token::Kind::Newline)
        ++place;
      else
        statement();
    }
    result.isCut = work > mostWork;
    return std::move(result);
  }

private:
  /// The map with one more key, or another value of a key; unknown if it is too large.
  void add(Value &map, const std::string &key, const ValuePointer &value, dsl::Location at) {
    if (map.kind != Kind::Map)
      return;
    work += map.entries.size() + 1;
    if (map.entries.size() >= largestMap)
      map.kind = Kind::Unknown, map.why.why = "a dictionary of more than 2000 keys", map.why.help = howToGive, map.why.at = at;
    else
      map = with(std::move(map), key, value, at);
  }
  Value merged(Value map, const Value &other) {
    for (size_t i = 0; i < other.entries.size(); ++i)
      add(map, other.entries[i].first, other.entries[i].second, other.places[i]);
    return map;
  }

  const Token &now(size_t ahead = 0) const { return tokens[std::min(place + ahead, tokens.size() - 1)]; }
  bool is(const char *text, size_t ahead = 0) const {
    const Token &token = now(ahead);
    return (token.kind == Token::Kind::Operator || token.kind == Token::Kind::Name) && token.text == text;
  }
  bool isName(size_t ahead = 0) const { return now(ahead).kind == Token::Kind::Name; }
  bool endsStatement() const { return now().kind == Token::Kind::Newline || now().kind == Token::Kind::End; }
  void toStatementsEnd() {
    while (!endsStatement())
      ++place;
  }

  /// The line of the condition or loop around the statement; 0: none.
  uint32_t conditionAt(size_t indentation) {
    while (!blocks.empty() && indentation <= blocks.back().first)
      blocks.pop_back();
    return blocks.empty() ? 0 : blocks.back().second;
  }

  void statement() {
    static const std::set<std::string> deciding = {"if", "elif", "else", "for", "while", "try", "except", "finally", "match", "case"};
    static const std::set<std::string> opening = {"def", "class", "with", "async"};
    const Token first = now();
    const uint32_t condition = conditionAt(first.indentation);
    if (first.kind == Token::Kind::Name && (deciding.count(first.text) || opening.count(first.text))) {
      const bool isMain = is("if") && is("__name__", 1);
      blocks.emplace_back(first.indentation, deciding.count(first.text) && !isMain ? first.at.line : condition);
      return unbind();
    }
    if (is("import") || is("from"))
      return unbindAll("what line " + std::to_string(first.at.line) + " imports");
    if (is("del"))
      return unbindAll("what line " + std::to_string(first.at.line) + " deletes");
    if (is("@"))
      return toStatementsEnd();
    if (is("return") || is("yield") || is("await"))
      ++place;
    if (isName() && assignment(condition))
      return;
    value();
    toStatementsEnd();
  }

  /// Passes the first line of a block. Names that it binds become unknown: the variable of a loop, arguments of a function, names set in
  /// the line.
  void unbind() {
    for (bool isLoop = is("for"); !endsStatement(); ++place) {
      isLoop = isLoop && !is("in");
      const bool isBound = isLoop || is("=", 1) || is(",", 1) || is(")", 1) || is(":", 1);
      if (isName() && isBound && find(now().text))
        result.names[now().text] =
            unknown("what line " + std::to_string(now().at.line) + " sets '" + now().text.substr(0, 60) + "' to", now().at);
    }
  }

  /// Passes a statement, all of whose known names become unknown.
  void unbindAll(const std::string &why) {
    for (; !endsStatement(); ++place)
      if (isName() && find(now().text))
        result.names[now().text] = unknown(why, now().at);
  }

  /// Tells whether a dictionary or list is a part of another value.
  bool contains(const Value &value, const ValuePointer &part, std::set<const Value *> &seen) {
    if (!seen.insert(&value).second)
      return false;
    work += value.entries.size() + value.items.size() + 1;
    auto isIn = [&](const ValuePointer &one) { return one == part || contains(*one, part, seen); };
    return std::any_of(value.items.begin(), value.items.end(), isIn) ||
           std::any_of(value.entries.begin(), value.entries.end(), [&](const auto &entry) { return isIn(entry.second); });
  }

  /// A change of a dictionary changes it under its other names too. Its containers become unknown.
  void changeOthers(const std::string &name, const ValuePointer &before, dsl::Location at) {
    const ValuePointer after = result.names[name];
    for (auto &[other, value] : result.names)
      if (std::set<const Value *> seen; value == before)
        value = after;
      else if (other != name && contains(*value, before, seen))
        value = unknown("'" + name.substr(0, 60) + "', which is changed later", at);
  }

  /// `name = ...`, `name["key"] = ...`, `name.update(...)` and the like. False if the statement is none of them.
  bool assignment(uint32_t condition) {
    const std::string name = now().text;
    const dsl::Location at = now().at;
    auto bind = [&](ValuePointer value) {
      if (!endsStatement())
        value = unknown("'" + name.substr(0, 60) + "', which is set to no literal", at);
      if (condition > 0)
        value = unknown(fmt::format("what line {} decides: '{}' is set below it", condition, name.substr(0, 60)), at);
      result.names[name] = std::move(value);
    };
    if (is("=", 1)) {
      place += 2;
      bind(value());
    } else if (is(":", 1)) { // with a type
      size_t ahead = 2;
      while (now(ahead).kind != Token::Kind::Newline && now(ahead).kind != Token::Kind::End && !is("=", ahead))
        ++ahead;
      if (!is("=", ahead))
        return false;
      place += ahead + 1;
      bind(value());
    } else if (is("[", 1)) {
      const size_t begin = place, calls = result.calls.size();
      const ValuePointer before = find(name) ? *find(name) : nullptr;
      if (!keyAssignment(name, bind)) {
        place = begin, result.calls.resize(calls);
        return false;
      }
      if (before)
        changeOthers(name, before, at);
    } else if (is(".", 1) && is("update", 2) && is("(", 3)) {
      place += 4;
      const ValuePointer before = find(name) ? *find(name) : nullptr;
      const bool isKeywords = isName() && is("=", 1);
      ValuePointer more = isKeywords ? arguments() : value();
      const bool isKnown = before && before->kind == Kind::Map && more->kind == Kind::Map;
      if (is(")"))
        ++place;
      bind(isKnown ? made(merged(*before, *more)) : unknown("a change of '" + name.substr(0, 60) + "' that is no literal", at));
      if (before)
        changeOthers(name, before, at);
    } else if (const ValuePointer *held = find(name);
               held && ((*held)->kind == Kind::Map || (*held)->kind == Kind::List) && is(".", 1) && is("(", 3) && !onlyReads(now(2).text)) {
      const ValuePointer before = *held;
      toStatementsEnd();
      bind(unknown("a change of '" + name.substr(0, 60) + "' that npar does not follow", at));
      changeOthers(name, before, at);
    } else if (now(1).kind == Token::Kind::Operator && now(1).text.size() >= 2 && now(1).text.back() == '=' &&
               std::string("+-*/%|&^").find(now(1).text[0]) != std::string::npos) {
      const std::string shown = name.substr(0, 60) + " " + now(1).text;
      toStatementsEnd();
      bind(unknown("'" + shown + "', which npar does not compute", at));
    } else if (is(",", 1)) { // several names at once
      for (size_t ahead = 0; isName(ahead); ahead += 2) {
        result.names[now(ahead).text] = unknown("an assignment of several names at once", at);
        if (!is(",", ahead + 1))
          break;
      }
    } else {
      return false;
    }
    toStatementsEnd();
    return true;
  }

  /// `name["a"]["b"] = value`. False if this is no such statement.
  template <class Bind> bool keyAssignment(const std::string &name, const Bind &bind) {
    std::vector<std::pair<std::string, dsl::Location>> keys;
    bool isKnown = true;
    for (++place; is("[");) {
      ++place;
      ValuePointer key = value();
      isKnown = isKnown && key->kind == Kind::Text;
      keys.emplace_back(key->text, key->at);
      if (!is("]"))
        return false;
      ++place;
    }
    if (!is("="))
      return false;
    ++place;
    ValuePointer given = value();
    const ValuePointer *before = find(name);
    ValuePointer changed = isKnown && before ? changedAt(*before, keys, 0, given) : nullptr;
    if (before && (*before)->kind == Kind::Unknown)
      changed = *before; // for its own reason
    bind(changed ? changed : unknown("a change of '" + name.substr(0, 60) + "' that npar does not follow", given->at));
    return true;
  }

  ValuePointer changedAt(const ValuePointer &map, const std::vector<std::pair<std::string, dsl::Location>> &keys, size_t level,
                         const ValuePointer &given) {
    if (level == keys.size())
      return given;
    if (map->kind != Kind::Map || level >= deepest)
      return nullptr;
    const ValuePointer *inside = map->find(keys[level].first);
    if (!inside && level + 1 < keys.size())
      return nullptr;
    ValuePointer changed = changedAt(inside ? *inside : given, keys, level + 1, given);
    if (!changed)
      return nullptr;
    Value copy = *map;
    add(copy, keys[level].first, changed, keys[level].second);
    return made(std::move(copy));
  }

  /// Methods of dictionaries and lists that do not change them.
  static bool onlyReads(const std::string &method) {
    static const std::set<std::string> names = {"copy", "count", "get", "index", "items", "keys", "values"};
    return names.count(method) != 0;
  }

  const ValuePointer *find(const std::string &name) const {
    auto known = result.names.find(name);
    return known == result.names.end() ? nullptr : &known->second;
  }

  /// Skips to the end of an expression: a comma, a colon or a closing bracket of this level, or the end of the statement.
  void skipExpression() {
    for (size_t open = 0; !endsStatement(); ++place) {
      if (is("(") || is("[") || is("{"))
        ++open;
      else if ((is(")") || is("]") || is("}")) && open-- == 0)
        return;
      else if (open == 0 && (is(",") || is(":")))
        return;
    }
  }
  bool endsExpression() const { return endsStatement() || is(",") || is(":") || is(")") || is("]") || is("}") || is("="); }

  ValuePointer noLiteral(dsl::Location at, size_t begin) {
    place = begin;
    skipExpression();
    std::string text;
    for (size_t i = begin; i < place && text.size() < 40; ++i)
      text += (text.empty() || tokens[i].kind == Token::Kind::Operator || tokens[i - 1].kind == Token::Kind::Operator ? "" : " ") +
              (tokens[i].kind == Token::Kind::String ? "\"" + tokens[i].text.substr(0, 40) + "\"" : tokens[i].text.substr(0, 40));
    return unknown("'" + text.substr(0, 60) + "', which is no literal", at);
  }

  /// An expression up to its end.
  ValuePointer value() {
    const size_t begin = place;
    const dsl::Location at = now().at;
    if (++level > deepest) {
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
    const bool isWhole = left && endsExpression() && left->depth <= deepest;
    --level;
    if (!isWhole)
      return noLiteral(at, begin);
    return left;
  }

  /// Null for what is not computed.
  static ValuePointer sum(const Value &left, const Value &right, bool isDifference, dsl::Location at) {
    std::optional<int64_t> a = wholeOf(left), b = wholeOf(right);
    if (a && b)
      return word(std::to_string(isDifference ? *a - *b : *a + *b), at);
    if (isDifference || left.kind != Kind::Text || right.kind != Kind::Text || left.text.size() + right.text.size() > longestText)
      return nullptr;
    return word(left.text + right.text, at, Kind::Text);
  }

  ValuePointer product() {
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

  /// Null for what is no literal; then some of its tokens may be passed.
  ValuePointer primary() {
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

  /// Strings next to each other are one.
  ValuePointer text() {
    const dsl::Location at = now().at;
    std::string all;
    bool isFormatted = false;
    for (; now().kind == Token::Kind::String; ++place)
      all += now().text, isFormatted = isFormatted || now().isFormatted;
    if (isFormatted)
      return unknown("'" + all.substr(0, 60) + "', whose braces are filled in when it runs", at);
    return all.size() > longestText ? nullptr : word(std::move(all), at, Kind::Text);
  }

  ValuePointer named() {
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

  ValuePointer lookedUp(const Token &token) const {
    const ValuePointer *known = find(token.text);
    return known ? *known : unknown("'" + token.text.substr(0, 60) + "', which the file does not set to a literal", token.at);
  }

  /// The keyword arguments of a call up to its closing parenthesis, as a map. Others are read for the calls in them.
  ValuePointer arguments() {
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

  ValuePointer list() {
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

  ValuePointer map() {
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

  std::vector<Token> tokens;
  size_t place = 0, level = 0, work = 0;
  std::vector<std::pair<size_t, uint32_t>> blocks; ///< around the statement: indentation, and the line that decides whether it runs (or 0)
  Literals result;
};

/// The words of a list.
std::string wordsOf(const Value &list) {
  std::string words;
  for (const ValuePointer &item : list.items) {
    const bool isWord = item->kind == Kind::Text || item->kind == Kind::Word;
    if (words.size() <= longestForeignList)
      words += (words.empty() ? "" : " ") + (isWord ? item->text.substr(0, longestForeignList) : "...");
  }
  return words;
}

} // namespace

const ValuePointer *Value::find(const std::string &key) const {
  for (const auto &[name, value] : entries)
    if (name == key)
      return &value;
  return nullptr;
}

Literals literalsOf(const std::vector<Line> &lines) { return Reader(tokensOf(lines)).run(); }

bool addEntries(const std::string &path, const Value &value, dsl::Location at, EntryList &entries, size_t depth) {
  if (!entries.enter(depth, at))
    return false;
  if (value.kind == Kind::Unknown)
    return entries.add(path, "?", at, value.why);
  if (value.kind != Kind::Map)
    return entries.add(path, value.kind == Kind::List ? wordsOf(value) : value.text, at);
  for (size_t i = 0; i < value.entries.size(); ++i) {
    std::string inside;
    if (!entries.join(path, value.entries[i].first, value.places[i], inside) ||
        !addEntries(inside, *value.entries[i].second, value.places[i], entries, depth + 1))
      return false;
  }
  return true;
}

} // namespace npar::foreign::python
