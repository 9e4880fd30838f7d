// What `${...}` stands for: values, defaults, parts of a text, replacements; and assignments.
#include "tools/lib/foreign/shell/Expander.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace npar::foreign::shell {
namespace {

/// "@" or "*" for an index that stands for all elements, else empty.
std::string allOf(const Part &part) {
  if (part.index.empty() || part.index[0].parts.size() != 1 || part.index[0].parts[0].kind != Part::Kind::Literal)
    return "";
  const std::string &text = part.index[0].parts[0].text;
  return text == "@" || text == "*" ? text : "";
}

bool isDigits(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos; }

Text wordWithCase(const Text &text, bool upper, bool all, Origin at) {
  std::string word = text.str();
  for (size_t i = 0; i < word.size() && (all || i == 0); ++i)
    if (char c = word[i]; upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z')
      word[i] = static_cast<char>(upper ? c - 'a' + 'A' : c - 'A' + 'a');
  return {word, at};
}

} // namespace

Expander::Value Expander::elementsOf(const std::string &name, const Part &part, const Unit &unit) {
  Origin at = unit.source.originAt(part.begin);
  Value value;
  const State &state = environment.state;
  if (name == "@" || name == "*") {
    value.elements = state.arguments, value.isList = true, value.isJoined = name == "*";
  } else if (name == "#") {
    value.elements = {Text(std::to_string(state.arguments.size()), at)};
  } else if (name == "?") {
    value.elements = {state.status.unknown ? Text::unknown("$?", state.status.unknown) : Text(std::to_string(state.status.code), at)};
  } else if (name == "0") {
    value.elements = {Text(environment.scriptName, at)};
  } else if (isDigits(name)) {
    size_t number = name.size() < 6 ? static_cast<size_t>(std::stoul(name)) : 0;
    if (number >= 1 && number <= state.arguments.size())
      value.elements = {state.arguments[number - 1]};
    else if (state.replaced.empty()) // the script's own
      value.unset = environment.unsetReason(name, at);
  } else if (name == "$" || name == "!" || name == "-") {
    value.elements = {unknownPart(part, unit, unfollowed(part, unit))};
  } else if (name == "BASH_SOURCE") {
    value.elements = {Text(environment.scriptName, at)};
  } else if (name == "PWD") {
    value.elements = {state.folder};
  } else if (const Variable *variable = environment.find(name); !variable) {
    if (!environment.isUnset(name))
      value.unset = environment.unsetReason(name, at);
  } else if (variable->unknown) {
    value.elements = {unknownPart(part, unit, variable->unknown)};
  } else if (part.index.empty()) {
    if (auto first = variable->list.find(0); first != variable->list.end())
      value.elements = {first->second};
  } else if (!allOf(part).empty()) {
    for (const auto &[index, text] : variable->list)
      value.elements.push_back(text);
    for (const auto &[index, text] : variable->map)
      value.elements.push_back(text);
    if (variable->map.size() > 1 && part.prefix != '#')
      value.elements = {unknownPart(part, unit, anyOrder(part, unit))};
    environment.spend(20 * value.elements.size(), at);
  } else if (variable->kind == Variable::Kind::Map) {
    Text index = text(part.index[0], unit);
    if (index.unknown())
      value.elements = {unknownPart(part, unit, index.unknown())};
    else if (auto known = variable->map.find(index.str()); known != variable->map.end())
      value.elements = {known->second};
  } else {
    Number index = sum(part.index[0], unit);
    variable = environment.find(name); // the sum may have changed it
    if (index.unknown)
      value.elements = {unknownPart(part, unit, index.unknown)};
    else if (variable && variable->list.count(variable->place(index.value)))
      value.elements = {variable->list.at(variable->place(index.value))};
  }
  if (std::string all = allOf(part); !all.empty()) {
    value.isList = true, value.isJoined = all == "*";
    if (value.unset && value.unset->isUnset) // no environment has lists
      value.unset = nullptr;
  }
  return value;
}

Expander::Value Expander::valueOf(const Part &part, const Unit &unit) {
  Origin at = unit.source.originAt(part.begin);
  if (part.prefix != '!')
    return elementsOf(part.text, part, unit);
  Value value;
  if (!allOf(part).empty() && part.op.empty()) { // the indices of a list
    value.isList = true;
    if (const Variable *variable = environment.find(part.text)) {
      for (const auto &[index, text] : variable->list)
        value.elements.emplace_back(std::to_string(index), at);
      for (const auto &[key, text] : variable->map)
        value.elements.emplace_back(key, at);
      if (variable->map.size() > 1)
        value.elements = {unknownPart(part, unit, anyOrder(part, unit))};
    }
    return value;
  }
  Value name = elementsOf(part.text, part, unit);
  UnknownPointer why = name.unset ? name.unset : name.elements.empty() || name.isList ? unfollowed(part, unit) : name.elements[0].unknown();
  if (!why) {
    Part named = part;
    named.index.clear();
    return elementsOf(name.elements[0].str(), named, unit);
  }
  value.elements = {unknownPart(part, unit, why)};
  return value;
}

/// Applies `:-`, `=`, `:?`, `+` and the like. True if the value itself is not what counts.
bool Expander::choose(Value &value, const Part &part, const Unit &unit, std::vector<Piece> &out) {
  char kind = part.op.back();
  if (UnknownPointer why = !value.isList && value.elements.size() == 1 ? value.elements[0].unknown() : nullptr;
      part.op.size() == 2 && why && why->isUnset && value.elements[0].withoutUnset(why->name).empty()) { // as after `X=$8`
    environment.assumeUnset(*why);
    value.elements = {Text()};
  }
  bool isEmptyToo = part.op.size() == 2, isUnset = value.unset ? value.unset->isUnset : value.elements.empty();
  bool isNull = isUnset || (isEmptyToo && !value.unset && value.elements.size() == 1 && value.elements[0].empty());
  if (kind == '+' && value.unset && isUnset)
    environment.assumeUnset(*value.unset);
  if (kind == '+') {
    if (!isNull)
      for (Piece &piece : pieces(part.operands[0], unit))
        out.push_back(std::move(piece));
    else if (part.isQuoted && !part.mayVanish)
      out.push_back({Text(), true, false});
    return true;
  }
  if (!isNull)
    return false;
  if (kind == '-') {
    std::vector<Piece> otherwise = pieces(part.operands[0], unit);
    if (otherwise.empty() && part.isQuoted && !part.mayVanish)
      out.push_back({Text(), true, false});
    for (Piece &piece : otherwise) {
      piece.isQuoted = piece.isQuoted || part.isQuoted;
      out.push_back(std::move(piece));
    }
    return true;
  }
  if (kind == '=') {
    Text otherwise = text(part.operands[0], unit);
    environment.assign(part.text, otherwise, unit.source.originAt(part.begin));
    value = elementsOf(part.text, part, unit);
    return false;
  }
  if (!value.unset) // `?`: the script ends here
    value.elements = {unknownPart(part, unit, unfollowed(part, unit))};
  return false;
}

void Expander::parameter(const Part &part, const Unit &unit, std::vector<Piece> &out) {
  Origin at = unit.source.originAt(part.begin);
  Value value = valueOf(part, unit);
  if (part.prefix == '#') {
    UnknownPointer why = value.unset;
    for (const Text &one : value.elements)
      why = why ? why : one.unknown();
    size_t count = value.isList ? value.elements.size() : value.elements.empty() ? 0 : value.elements[0].size();
    out.push_back({why ? unknownPart(part, unit, why) : Text(std::to_string(count), at), part.isQuoted, false});
    return;
  }
  if (!part.op.empty() && std::string_view("-=?+").find(part.op.back()) != std::string_view::npos) {
    if (choose(value, part, unit, out))
      return;
  } else if (part.op == ":") {
    cut(value, part, unit);
  } else if (!part.op.empty() && !value.unset) {
    for (Text &one : value.elements)
      one = one.unknown() ? unknownPart(part, unit, one.unknown()) : changed(one, part, unit);
  }
  add(value, part, unit, out);
}

void Expander::add(const Value &value, const Part &part, const Unit &unit, std::vector<Piece> &out) {
  Origin at = unit.source.originAt(part.begin);
  if (value.unset) {
    out.push_back({unknownPart(part, unit, value.unset), part.isQuoted, false});
  } else if (value.isList && value.isJoined && part.isQuoted) {
    if (!value.elements.empty() || !part.mayVanish)
      out.push_back({joined(value.elements, at), true, false});
  } else if (value.isList) {
    for (size_t i = 0; i < value.elements.size() && environment.spend(1, at); ++i) {
      if (i > 0)
        out.push_back({Text(), false, true});
      out.push_back({value.elements[i], part.isQuoted, false});
    }
  } else if (Text text = value.elements.empty() ? Text() : value.elements[0]; !text.empty() || !part.mayVanish) {
    out.push_back({std::move(text), part.isQuoted, false});
  }
}

/// Applies `#`, `%`, `/`, `^`, `,` and their doubles.
Text Expander::changed(const Text &text, const Part &part, const Unit &unit) {
  Origin at = unit.source.originAt(part.begin);
  bool isDouble = part.op.size() == 2 && part.op[0] == part.op[1];
  const std::string &all = text.str();
  if (part.op[0] == '/')
    return replaced(text, part, unit);
  if (part.op[0] == '^' || part.op[0] == ',')
    return part.operands[0].parts.empty() ? wordWithCase(text, part.op[0] == '^', isDouble, at)
                                          : unknownPart(part, unit, unfollowed(part, unit));
  KnownPattern known = pattern(part.operands[0], unit);
  if (known.unknown)
    return unknownPart(part, unit, known.unknown);
  size_t steps = 0;
  size_t place = part.op[0] == '#' ? known.pattern.atBegin(all, isDouble, steps) : known.pattern.atEnd(all, isDouble, steps);
  if (!environment.spend(steps, at) || place == std::string::npos)
    return text;
  return part.op[0] == '#' ? text.slice(place, all.size()) : text.slice(0, place);
}

Text Expander::replaced(const Text &text, const Part &part, const Unit &unit) {
  Origin at = unit.source.originAt(part.begin);
  KnownPattern known = pattern(part.operands[0], unit);
  Text by = part.operands.size() > 1 ? this->text(part.operands[1], unit) : Text();
  if (known.unknown)
    return unknownPart(part, unit, known.unknown);
  if (part.operands[0].parts.empty())
    return text;
  const std::string &all = text.str();
  Text result;
  bool isAll = part.op == "//", isBegin = part.op == "/#", isEnd = part.op == "/%";
  if (isEnd) {
    size_t steps = 0, begin = known.pattern.atEnd(all, true, steps);
    if (!environment.spend(steps, at) || begin == std::string::npos)
      return text;
    result = text.slice(0, begin);
    result.append(by);
    return result;
  }
  for (size_t i = 0; i < all.size();) {
    std::string_view rest = std::string_view(all).substr(i);
    size_t steps = 0, size = known.pattern.atBegin(rest, true, steps);
    if (!environment.spend(steps, at) || !environment.fits(result.size() + by.size(), at))
      return text;
    if (size == std::string::npos || size == 0) {
      if (isBegin)
        return text;
      result.append(text.slice(i, i + 1));
      ++i;
      continue;
    }
    result.append(by);
    i += size;
    if (!isAll) {
      result.append(text.slice(i, all.size()));
      break;
    }
  }
  return result;
}

/// Applies `:begin` and `:begin:count`. The begin of a list is an index, the count is one of elements.
void Expander::cut(Value &value, const Part &part, const Unit &unit) {
  Origin at = unit.source.originAt(part.begin);
  Text operand = text(part.operands[0], unit);
  size_t colon = operand.str().find(':');
  bool hasCount = colon != std::string::npos;
  Number begin = sumOf(operand.slice(0, hasCount ? colon : operand.size()), environment, at), count;
  if (hasCount)
    count = sumOf(operand.slice(colon + 1, operand.size()), environment, at);
  UnknownPointer why = begin.unknown ? begin.unknown : count.unknown;
  for (const Text &one : value.elements)
    why = why || value.isList ? why : one.unknown();
  if (value.unset)
    return;
  if (why) {
    value.elements = {unknownPart(part, unit, why)};
    return;
  }
  if (value.isList && (part.text == "@" || part.text == "*"))
    value.elements.insert(value.elements.begin(), Text(environment.scriptName, at));
  if (value.elements.empty() && !value.isList)
    return;
  int64_t size = static_cast<int64_t>(value.isList ? value.elements.size() : value.elements[0].size());
  const Variable *list = value.isList ? environment.find(part.text) : nullptr; // null for the arguments, too
  int64_t end = list ? list->end() : size;
  int64_t first = begin.value < 0 ? begin.value + end : begin.value, last = size;
  bool isOutside = first < 0 || first > end;
  if (list && !isOutside)
    first = std::distance(list->list.begin(), list->list.lower_bound(first));
  if (hasCount)
    last = count.value < 0 ? size + count.value : count.value > size ? size : std::min(size, first + count.value);
  if (!isOutside && hasCount && count.value < 0 && (value.isList || last < first)) { // an error of bash
    value.elements = {unknownPart(part, unit, unfollowed(part, unit))};
    return;
  }
  if (isOutside || last < first)
    first = last = 0;
  if (!value.isList) {
    value.elements = {value.elements[0].slice(static_cast<size_t>(first), static_cast<size_t>(last))};
    return;
  }
  value.elements = std::vector<Text>(value.elements.begin() + first, value.elements.begin() + last);
}

void Expander::assign(const Assignment &assignment, const Unit &unit, bool isMap) {
  Origin at = unit.source.originAt(assignment.value.parts.empty() ? assignment.value.begin : assignment.value.parts[0].begin);
  const Variable *known = environment.find(assignment.name);
  isMap = isMap || (known && known->kind == Variable::Kind::Map);
  if (!assignment.elements && !assignment.index && !isMap && (!known || known->kind == Variable::Kind::Text)) {
    Text value = text(assignment.value, unit), all;
    known = environment.find(assignment.name);
    bool isNew = !known && !environment.isUnset(assignment.name);
    Text added = isNew ? value.withoutUnset(assignment.name) : value; // `A="$A x"` adds to what nothing sets
    if (isNew && (assignment.adds || (added != value && !added.empty()))) {
      environment.assumeUnset(*environment.unsetReason(assignment.name, at));
      value = added;
    }
    if (assignment.adds && known && known->list.count(0))
      all = known->list.at(0);
    all.append(value);
    if (environment.fits(all.size(), at) && environment.spend(all.weight(), at))
      environment.assign(assignment.name, std::move(all), at);
    return;
  }
  Variable variable = known && (assignment.adds || !assignment.elements) ? *known : Variable();
  if (!environment.spend(20 * (variable.list.size() + variable.map.size()), at))
    return;
  variable.kind = isMap ? Variable::Kind::Map : Variable::Kind::List;
  int64_t next = 0; // the index after the last one that was set
  auto set = [&](const Text &index, Text value, bool adds) {
    if (UnknownPointer why = index.unknown()) {
      variable.unknown = why;
    } else if (isMap) {
      variable.map[index.str()] = std::move(value);
    } else {
      Number number = sumOf(index, environment, at);
      if (number.unknown)
        variable.unknown = number.unknown;
      number.value = variable.place(number.value);
      Text all = adds ? variable.list[number.value] : Text();
      all.append(value);
      if (environment.fits(all.size(), at))
        variable.list[number.value] = std::move(all);
      next = number.value + 1;
    }
  };
  if (!assignment.elements) {
    set(assignment.index ? text(*assignment.index, unit) : Text("0", at), text(assignment.value, unit), assignment.adds);
  } else {
    next = variable.end();
    for (const Word &word : *assignment.elements) {
      const std::string first =
          word.parts.empty() || word.parts[0].kind != Part::Kind::Literal || word.parts[0].isQuoted ? "" : word.parts[0].text;
      size_t close = !first.empty() && first[0] == '[' ? first.find("]=") : std::string::npos;
      if (close != std::string::npos) {
        Word value = word;
        value.parts[0].text = first.substr(close + 2), value.parts[0].begin += close + 2;
        set(Text(first.substr(1, close - 1), at), text(value, unit), false);
        continue;
      }
      for (Text &one : fields(word, unit))
        if (!isMap && environment.spend(1, at))
          variable.list[next++] = std::move(one);
    }
  }
  environment.assign(assignment.name, std::move(variable));
}

} // namespace npar::foreign::shell
