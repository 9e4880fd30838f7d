// Follows bash: braces first, then parameters, sums and outputs, then the splitting of what was not quoted. Names of files are not
// looked up, so `*` stays as it is.
#include "tools/lib/foreign/shell/Expander.h"

#include <algorithm>
#include <utility>

namespace npar::foreign::shell {
namespace {

constexpr size_t mostBraces = 1000; ///< words that a range may become

/// The texts between commas, or the numbers of a range; empty if npar does not follow it.
std::vector<std::string> alternatives(std::string_view inside) {
  std::vector<std::string> list;
  size_t dots = inside.find("..");
  if (inside.find(',') == std::string_view::npos && dots != std::string_view::npos) {
    std::vector<int64_t> numbers;
    for (size_t begin = 0; begin <= inside.size();) {
      size_t end = std::min(inside.find("..", begin), inside.size());
      std::string word(inside.substr(begin, end - begin));
      size_t digits = word.size() > 1 && word[0] == '-' ? 1 : 0;
      if (word.empty() || word.size() > 9 || word.find_first_not_of("0123456789", digits) != std::string::npos ||
          (word.size() > digits + 1 && word[digits] == '0'))
        return {};
      numbers.push_back(std::stoll(word));
      begin = end + 2;
    }
    if (numbers.size() < 2 || numbers.size() > 3)
      return {};
    int64_t step = numbers.size() == 3 && numbers[2] != 0 ? std::abs(numbers[2]) : 1, way = numbers[0] <= numbers[1] ? step : -step;
    for (int64_t i = numbers[0]; way > 0 ? i <= numbers[1] : i >= numbers[1]; i += way) {
      if (list.size() == mostBraces)
        return {};
      list.push_back(std::to_string(i));
    }
    return list;
  }
  for (size_t begin = 0; begin <= inside.size();) {
    size_t end = std::min(inside.find(',', begin), inside.size());
    list.emplace_back(inside.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

} // namespace

Text Expander::literal(const Part &part, const Unit &unit) const {
  if (unit.source.str().compare(part.begin, part.text.size(), part.text) == 0)
    return unit.source.slice(part.begin, part.begin + part.text.size());
  return {part.text, unit.source.originAt(part.begin)};
}

Text Expander::unknownPart(const Part &part, const Unit &unit, UnknownPointer why) const {
  return Text::unknown(std::string_view(unit.source.str()).substr(part.begin, part.end - part.begin), std::move(why));
}

UnknownPointer Expander::unfollowed(const Part &part, const Unit &unit) const {
  Unknown unknown;
  unknown.at = unit.source.originAt(part.begin);
  unknown.why = "'" + unit.source.str().substr(part.begin, std::min<size_t>(part.end - part.begin, 60)) + "', which npar does not follow";
  return std::make_shared<Unknown>(std::move(unknown));
}

UnknownPointer Expander::anyOrder(const Part &part, const Unit &unit) const {
  Unknown unknown;
  unknown.at = unit.source.originAt(part.begin);
  unknown.why = "the order of an associative array's elements, which bash leaves open";
  return std::make_shared<Unknown>(std::move(unknown));
}

Text Expander::joined(const std::vector<Text> &texts, Origin at) {
  Text result;
  for (const Text &one : texts) {
    if (&one != &texts.front())
      result.append(" ", at);
    if (!environment.fits(result.size() + one.size(), at) || !environment.spend(1 + one.weight(), at))
      break;
    result.append(one);
  }
  return result;
}

std::vector<Expander::Piece> Expander::pieces(const Word &word, const Unit &unit) {
  std::vector<Piece> out;
  if (++depth > deepestShellCalls)
    environment.fail({unit.source.originAt(word.begin), "expansions are nested too deep", "", {}, ""});
  for (const Part &part : word.parts) {
    Origin at = unit.source.originAt(part.begin);
    if (!environment.spend(1 + (part.end - part.begin), at))
      break;
    size_t before = out.size();
    if (part.kind == Part::Kind::Literal || part.kind == Part::Kind::Braces) {
      out.push_back({literal(part, unit), part.isQuoted, false});
    } else if (part.kind == Part::Kind::Parameter) {
      parameter(part, unit, out);
    } else if (part.kind == Part::Kind::Sum) {
      Number number = sum(part.operands[0], unit);
      Text value = number.unknown ? unknownPart(part, unit, number.unknown) : Text(std::to_string(number.value), at);
      out.push_back({std::move(value), part.isQuoted, false});
    } else if (Text printed = outputOf(part, unit); !printed.empty() || !part.mayVanish) {
      out.push_back({std::move(printed), part.isQuoted, false});
    }
    size_t weight = 0; // of the copies
    for (; before < out.size(); ++before)
      weight += out[before].text.weight();
    if (!environment.spend(weight, at))
      break;
  }
  --depth;
  return out;
}

Number Expander::sum(const Word &word, const Unit &unit) { return sumOf(text(word, unit), environment, unit.source.originAt(word.begin)); }

Text Expander::text(const Word &word, const Unit &unit) {
  Text result;
  for (const Piece &piece : pieces(word, unit)) {
    if (!environment.fits(result.size() + piece.text.size(), unit.source.originAt(word.begin)) ||
        !environment.spend(piece.text.weight(), unit.source.originAt(word.begin)))
      break;
    if (piece.isBreak)
      result.append(" ", unit.source.originAt(word.begin));
    else
      result.append(piece.text);
  }
  return result;
}

KnownPattern Expander::pattern(const Word &word, const Unit &unit) {
  KnownPattern result;
  for (const Piece &piece : pieces(word, unit)) {
    if (UnknownPointer why = piece.text.unknown(); why && !result.unknown)
      result.unknown = why;
    if (piece.isBreak)
      result.pattern.addLiteral(" ");
    else if (piece.isQuoted)
      result.pattern.addLiteral(piece.text.str());
    else
      result.pattern.add(piece.text.str());
  }
  return result;
}

std::vector<Text> Expander::fields(const std::vector<Word> &words, const Unit &unit) {
  std::vector<Text> all;
  for (const Word &word : words)
    for (Text &one : fields(word, unit))
      all.push_back(std::move(one));
  return all;
}

std::vector<Text> Expander::fields(const Word &word, const Unit &unit) {
  std::vector<Text> result;
  Origin at = unit.source.originAt(word.begin);
  for (const Word &one : withoutBraces(word, at)) {
    Text current;
    bool has = false;
    for (const Piece &piece : pieces(one, unit)) {
      if (!environment.spend(1 + piece.text.weight(), at) || !environment.fits(current.size() + piece.text.size(), at))
        return {};
      if (piece.isBreak) {
        if (has)
          result.push_back(std::exchange(current, Text()));
        has = false;
      } else if (piece.isQuoted) {
        current.append(piece.text), has = true;
      } else {
        split(piece.text, result, current, has);
      }
    }
    if (has)
      result.push_back(std::move(current));
  }
  return result;
}

void Expander::split(const Text &text, std::vector<Text> &fields, Text &current, bool &has) {
  std::string separators = " \t\n";
  if (const Variable *ifs = environment.find("IFS"); ifs && ifs->list.count(0) && !ifs->list.at(0).unknown())
    separators = ifs->list.at(0).str();
  const std::string &all = text.str();
  auto separates = [&](size_t at) { return separators.find(all[at]) != std::string::npos && !text.unknownAt(at); };
  for (size_t at = 0; at < all.size();) {
    bool isBlank = all[at] == ' ' || all[at] == '\t' || all[at] == '\n';
    if (separates(at)) {
      if (has || !isBlank)
        fields.push_back(std::exchange(current, Text()));
      has = false, ++at;
      continue;
    }
    size_t end = at;
    while (end < all.size() && !separates(end))
      ++end;
    current.append(text.slice(at, end)), has = true;
    at = end;
  }
}

std::vector<Word> Expander::withoutBraces(const Word &word, Origin at) {
  std::vector<Word> words = {word};
  for (size_t i = 0; i < word.parts.size(); ++i) {
    const Part &part = word.parts[i];
    if (part.kind != Part::Kind::Braces)
      continue;
    std::vector<std::string> list = part.text.find_first_of("${", 1) == std::string::npos
                                        ? alternatives(std::string_view(part.text).substr(1, part.text.size() - 2))
                                        : std::vector<std::string>();
    if (list.empty() || !environment.spend(words.size() * list.size() * word.parts.size(), at))
      continue; // stays as it is
    std::vector<Word> more;
    for (const Word &one : words)
      for (const std::string &text : list) {
        Word copy = one;
        copy.parts[i].kind = Part::Kind::Literal, copy.parts[i].text = text;
        more.push_back(std::move(copy));
      }
    words = std::move(more);
  }
  return words;
}

} // namespace npar::foreign::shell
