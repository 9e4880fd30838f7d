// Matches by going back to the last star only, which is enough for patterns without alternatives.
#include "tools/lib/foreign/shell/Pattern.h"

#include <array>
#include <cctype>
#include <utility>

namespace npar::foreign::shell {
namespace {

/// The bytes of a class such as `[:digit:]`.
std::string bytesOf(std::string_view name) {
  static const std::array<std::pair<std::string_view, int (*)(int)>, 8> classes = {{{"digit", std::isdigit},
                                                                                    {"alpha", std::isalpha},
                                                                                    {"alnum", std::isalnum},
                                                                                    {"space", std::isspace},
                                                                                    {"upper", std::isupper},
                                                                                    {"lower", std::islower},
                                                                                    {"punct", std::ispunct},
                                                                                    {"xdigit", std::isxdigit}}};
  std::string bytes;
  for (const auto &[known, is] : classes)
    for (int c = 0; known == name && c < 128; ++c)
      if (is(c))
        bytes += static_cast<char>(c);
  return bytes;
}

/// Reads the inside of brackets up to `end`.
std::string setOf(std::string_view inside) {
  std::string set;
  bool isNegated = !inside.empty() && (inside[0] == '!' || inside[0] == '^');
  for (size_t i = isNegated ? 1 : 0; i < inside.size(); ++i) {
    size_t close = inside.substr(i, 2) == "[:" ? inside.find(":]", i) : std::string_view::npos;
    if (close != std::string_view::npos) {
      set += bytesOf(inside.substr(i + 2, close - i - 2));
      i = close + 1;
    } else if (i + 2 < inside.size() && inside[i + 1] == '-') {
      for (int c = static_cast<unsigned char>(inside[i]); c <= static_cast<unsigned char>(inside[i + 2]); ++c)
        set += static_cast<char>(c);
      i += 2;
    } else {
      set += inside[i];
    }
  }
  if (!isNegated)
    return set;
  std::string others;
  for (int c = 1; c < 256; ++c)
    if (set.find(static_cast<char>(c)) == std::string::npos)
      others += static_cast<char>(c);
  return others;
}

/// The place of the bracket that closes the one at `open`; npos without one.
size_t closeOf(std::string_view text, size_t open) {
  size_t at = open + 1;
  if (at < text.size() && (text[at] == '!' || text[at] == '^'))
    ++at;
  for (size_t first = at; at < text.size(); ++at) {
    if (text.substr(at, 2) == "[:") {
      size_t close = text.find(":]", at);
      at = close == std::string_view::npos ? at : close + 1;
    } else if (text[at] == ']' && at > first) {
      return at;
    }
  }
  return std::string_view::npos;
}

} // namespace

void Pattern::addLiteral(std::string_view text) {
  for (char c : text)
    places.push_back({Place::Kind::Byte, c, ""});
}

void Pattern::add(std::string_view text) {
  size_t noClose = std::string_view::npos; // no bracket from here on closes
  for (size_t i = 0; i < text.size(); ++i) {
    size_t close = text[i] == '[' && i < noClose ? closeOf(text, i) : std::string_view::npos;
    if (text[i] == '[' && close == std::string_view::npos && noClose == std::string_view::npos)
      noClose = i;
    if (text[i] == '\\' && i + 1 < text.size()) {
      places.push_back({Place::Kind::Byte, text[++i], ""});
    } else if (text[i] == '*') {
      if (places.empty() || places.back().kind != Place::Kind::Many)
        places.push_back({Place::Kind::Many, 0, ""});
    } else if (text[i] == '?') {
      places.push_back({Place::Kind::Any, 0, ""});
    } else if (close != std::string_view::npos) {
      places.push_back({Place::Kind::Set, 0, setOf(text.substr(i + 1, close - i - 1))});
      i = close;
    } else {
      places.push_back({Place::Kind::Byte, text[i], ""});
    }
  }
}

bool Pattern::fits(const Place &place, char c) {
  switch (place.kind) {
  case Place::Kind::Byte:
    return place.byte == c;
  case Place::Kind::Any:
    return true;
  case Place::Kind::Set:
    return place.set.find(c) != std::string::npos;
  case Place::Kind::Many:
    return false;
  }
  return false;
}

bool Pattern::matches(std::string_view text, size_t &steps) const {
  constexpr size_t none = std::string_view::npos;
  size_t at = 0, place = 0, star = none, starAt = 0;
  while (at < text.size()) {
    if (++steps > mostPatternSteps)
      return false;
    if (place < places.size() && places[place].kind == Place::Kind::Many) {
      star = place++, starAt = at;
    } else if (place < places.size() && fits(places[place], text[at])) {
      ++place, ++at;
    } else if (star != none) {
      place = star + 1, at = ++starAt;
    } else {
      return false;
    }
  }
  while (place < places.size() && places[place].kind == Place::Kind::Many)
    ++place;
  return place == places.size();
}

size_t Pattern::atBegin(std::string_view text, bool longest, size_t &steps) const {
  for (size_t i = 0; i <= text.size() && ++steps < mostPatternSteps; ++i)
    if (size_t size = longest ? text.size() - i : i; matches(text.substr(0, size), steps))
      return size;
  return std::string_view::npos;
}

size_t Pattern::atEnd(std::string_view text, bool longest, size_t &steps) const {
  for (size_t i = 0; i <= text.size() && ++steps < mostPatternSteps; ++i)
    if (size_t begin = longest ? i : text.size() - i; matches(text.substr(begin), steps))
      return begin;
  return std::string_view::npos;
}

} // namespace npar::foreign::shell
