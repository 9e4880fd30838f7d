// A place in the array is the base of a node's children: the child of a byte is at place ^ byte.
#include "engine/text/CharsMap.h"

#include "engine/text/Grapheme.h"
#include "engine/text/Utf8.h"

#include <array>
#include <cstring>

namespace npar::engine {
namespace {

constexpr size_t longestText = 256; // bytes that may replace a text
constexpr uint32_t labelBits = 1U << 31 | 0xffU, valueBits = 0x7fffffffU;

size_t offsetOf(uint32_t unit) { return size_t{unit >> 10} << ((unit & (1U << 9)) >> 6); }
bool endsHere(uint32_t unit) { return (unit >> 8 & 1) != 0; }

/// True if a walk through the array from any text stays inside, and the values are beginnings of characters in `texts`.
bool staysInside(const std::vector<uint32_t> &units, std::string_view texts) {
  std::vector<bool> seen(units.size());
  std::vector<size_t> ahead = {offsetOf(units[0])};
  while (!ahead.empty()) {
    size_t place = ahead.back();
    ahead.pop_back();
    if ((place | 0xff) >= units.size())
      return false;
    if (seen[place])
      continue;
    seen[place] = true;
    for (size_t byte = 0; byte < 256; ++byte) {
      size_t child = place ^ byte;
      uint32_t unit = units[child];
      if ((unit & labelBits) != byte)
        continue;
      size_t next = child ^ offsetOf(unit);
      if (endsHere(unit)) {
        size_t value = next < units.size() ? units[next] & valueBits : texts.size();
        if (value >= texts.size() || (static_cast<uint8_t>(texts[value]) & 0xc0) == 0x80)
          return false;
        if (texts.substr(value, longestText + 1).find('\0') == std::string_view::npos)
          return false;
      }
      ahead.push_back(next);
    }
  }
  return true;
}

} // namespace

Result<std::shared_ptr<const CharsMap>> CharsMap::read(std::string_view bytes) {
  auto map = std::make_shared<CharsMap>();
  if (bytes.empty())
    return std::shared_ptr<const CharsMap>(map);
  const Status damaged = Status::badInput("the table of its normalizer is damaged");
  uint32_t length = 0;
  if (bytes.size() <= sizeof(length))
    return damaged;
  std::memcpy(&length, bytes.data(), sizeof(length));
  bytes.remove_prefix(sizeof(length));
  if (length >= bytes.size() || length % 4 || length == 0 || bytes.back() != '\0')
    return damaged;
  map->units.resize(length / 4);
  std::memcpy(map->units.data(), bytes.data(), length);
  map->texts = bytes.substr(length);
  if (utf8Extent(map->texts).end < map->texts.size() || !staysInside(map->units, map->texts))
    return damaged;
  return std::shared_ptr<const CharsMap>(map);
}

/// Calls `visit(length, value)` for each entry that the text begins with, the shortest first, until it returns false. True if the walk
/// reached the end of the text.
template <typename Visit> bool CharsMap::prefixes(std::string_view text, Visit visit) const {
  if (units.empty())
    return false;
  size_t place = offsetOf(units[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\0')
      return false;
    uint8_t byte = static_cast<uint8_t>(text[i]);
    place ^= byte;
    uint32_t unit = units[place];
    if ((unit & labelBits) != byte)
      return false;
    place ^= offsetOf(unit);
    if (endsHere(unit) && !visit(i + 1, units[place] & valueBits))
      return false;
  }
  return true;
}

std::string_view CharsMap::textAt(uint32_t value) const { return texts.c_str() + value; }

CharsMap::Entry CharsMap::longest(std::string_view text, bool &open) const {
  Entry found;
  open = prefixes(text, [&](size_t length, uint32_t value) {
    found = {length, textAt(value)};
    return true;
  });
  return found;
}

CharsMap::Entry CharsMap::shortest(std::string_view text) const {
  Entry found;
  prefixes(text, [&](size_t length, uint32_t value) {
    found = {length, textAt(value)};
    return false;
  });
  return found;
}

namespace {

class Precompiled : public Normalizer {
public:
  explicit Precompiled(std::shared_ptr<const CharsMap> given) : map(std::move(given)) {
    for (size_t c = 0; c < ascii.size(); ++c)
      replace(std::string(1, static_cast<char>(c)), ascii[c]);
  }

  Result<size_t> apply(std::string_view text, State &, bool goesOn, std::string &out) const override {
    size_t at = 0;
    while (at < text.size()) {
      auto isAscii = [&](size_t i) { return i < text.size() && static_cast<uint8_t>(text[i]) < 0x80; };
      if (isAscii(at) && isAscii(at + 1) && text[at] != '\r') { // a grapheme of its own
        out += ascii[static_cast<uint8_t>(text[at++])];
        continue;
      }
      size_t end = graphemeEnd(text, at);
      if (goesOn && end == text.size())
        return at;
      appendGrapheme(text.substr(at, end - at), out);
      at = end;
    }
    return at;
  }

private:
  /// The package replaces short clusters by their shortest entry, and characters of other ones for themselves.
  void appendGrapheme(std::string_view cluster, std::string &out) const {
    constexpr size_t shortCluster = 6;
    if (cluster.size() < shortCluster)
      if (CharsMap::Entry entry = map->shortest(cluster); entry.length > 0) {
        out += entry.by;
        return;
      }
    for (size_t at = 0; at < cluster.size();) {
      size_t from = at;
      characterAt(cluster, at);
      replace(cluster.substr(from, at - from), out);
    }
  }
  void replace(std::string_view text, std::string &out) const {
    CharsMap::Entry entry = map->shortest(text);
    out += entry.length > 0 ? entry.by : text;
  }

  std::shared_ptr<const CharsMap> map;
  std::array<std::string, 128> ascii;
};

} // namespace

std::shared_ptr<const Normalizer> precompiledNormalizer(std::shared_ptr<const CharsMap> map) {
  return std::make_shared<Precompiled>(std::move(map));
}

} // namespace npar::engine
