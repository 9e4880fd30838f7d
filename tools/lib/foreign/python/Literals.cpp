// Follows statements by their first words.
#include "tools/lib/foreign/python/Literals.h"

#include "tools/lib/foreign/python/Expressions.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace npar::foreign::python {
namespace {

using Kind = Value::Kind;

class Reader : ExpressionReader {
public:
  explicit Reader(std::vector<Token> all) : ExpressionReader(std::move(all)) {}

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
            unknownValue("what line " + std::to_string(now().at.line) + " sets '" + now().text.substr(0, 60) + "' to", now().at);
    }
  }

  /// Passes a statement, all of whose known names become unknown.
  void unbindAll(const std::string &why) {
    for (; !endsStatement(); ++place)
      if (isName() && find(now().text))
        result.names[now().text] = unknownValue(why, now().at);
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
        value = unknownValue("'" + name.substr(0, 60) + "', which is changed later", at);
  }

  /// `name = ...`, `name["key"] = ...`, `name.update(...)` and the like. False if the statement is none of them.
  bool assignment(uint32_t condition) {
    const std::string name = now().text;
    const dsl::Location at = now().at;
    auto bind = [&](ValuePointer value) {
      if (!endsStatement())
        value = unknownValue("'" + name.substr(0, 60) + "', which is set to no literal", at);
      if (condition > 0)
        value = unknownValue(fmt::format("what line {} decides: '{}' is set below it", condition, name.substr(0, 60)), at);
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
      bind(isKnown ? std::make_shared<const Value>(merged(*before, *more))
                   : unknownValue("a change of '" + name.substr(0, 60) + "' that is no literal", at));
      if (before)
        changeOthers(name, before, at);
    } else if (const ValuePointer *held = find(name);
               held && ((*held)->kind == Kind::Map || (*held)->kind == Kind::List) && is(".", 1) && is("(", 3) && !onlyReads(now(2).text)) {
      const ValuePointer before = *held;
      toStatementsEnd();
      bind(unknownValue("a change of '" + name.substr(0, 60) + "' that npar does not follow", at));
      changeOthers(name, before, at);
    } else if (now(1).kind == Token::Kind::Operator && now(1).text.size() >= 2 && now(1).text.back() == '=' &&
               std::string("+-*/%|&^").find(now(1).text[0]) != std::string::npos) {
      const std::string shown = name.substr(0, 60) + " " + now(1).text;
      toStatementsEnd();
      bind(unknownValue("'" + shown + "', which npar does not compute", at));
    } else if (is(",", 1)) { // several names at once
      for (size_t ahead = 0; isName(ahead); ahead += 2) {
        result.names[now(ahead).text] = unknownValue("an assignment of several names at once", at);
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
    bind(changed ? changed : unknownValue("a change of '" + name.substr(0, 60) + "' that npar does not follow", given->at));
    return true;
  }

  ValuePointer changedAt(const ValuePointer &map, const std::vector<std::pair<std::string, dsl::Location>> &keys, size_t level,
                         const ValuePointer &given) {
    if (level == keys.size())
      return given;
    if (map->kind != Kind::Map || level >= deepestValue)
      return nullptr;
    const ValuePointer *inside = map->find(keys[level].first);
    if (!inside && level + 1 < keys.size())
      return nullptr;
    ValuePointer changed = changedAt(inside ? *inside : given, keys, level + 1, given);
    if (!changed)
      return nullptr;
    Value copy = *map;
    add(copy, keys[level].first, changed, keys[level].second);
    return std::make_shared<const Value>(std::move(copy));
  }

  /// Methods of dictionaries and lists that do not change them.
  static bool onlyReads(const std::string &method) {
    static const std::set<std::string> names = {"copy", "count", "get", "index", "items", "keys", "values"};
    return names.count(method) != 0;
  }

  std::vector<std::pair<size_t, uint32_t>> blocks; ///< around the statement: indentation, and the line that decides whether it runs (or 0)
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
