// Builds fast tables from the compact ones at their first use.
#include "engine/text/Unicode.h"

#include <map>
#include <string>
#include <unordered_map>

namespace npar::engine {
namespace {

#include "engine/text/UnicodeMappings.inc"
#include "engine/text/UnicodeSets.inc"

template <size_t N> std::vector<CharacterSet::Range> rangesOf(const uint32_t (&table)[N]) {
  std::vector<CharacterSet::Range> ranges;
  char32_t at = 0;
  for (size_t i = 0; i + 1 < N; i += 2) {
    char32_t first = at + table[i];
    at = first + table[i + 1];
    if (at > first)
      ranges.emplace_back(first, at - 1);
  }
  return ranges;
}

/// Values of characters, most of which have the value 0.
template <typename T> class CharacterMap {
public:
  CharacterMap() : pages(limit >> 7), blocks(1) {}
  T operator[](char32_t c) const { return c < limit ? blocks[pages[c >> 7]][c & 127] : T(); }
  void set(char32_t c, T value) {
    uint16_t &page = pages[c >> 7];
    if (page == 0) {
      page = static_cast<uint16_t>(blocks.size());
      blocks.emplace_back();
    }
    blocks[page][c & 127] = value;
  }

private:
  static constexpr char32_t limit = 0x110000;
  std::vector<uint16_t> pages;
  std::vector<std::array<T, 128>> blocks;
};

/// Texts of characters.
class Texts {
public:
  template <size_t N> explicit Texts(const uint32_t (&table)[N]) {
    char32_t at = 0;
    for (size_t i = 0; i + 1 < N; i += 2 + table[i + 1]) {
      at += table[i];
      keys.push_back(at);
      places.set(at, static_cast<uint32_t>(pool.size() << 8 | table[i + 1]));
      for (size_t k = 0; k < table[i + 1]; ++k)
        pool += static_cast<char32_t>(table[i + 2 + k]);
    }
  }
  std::u32string_view of(char32_t c) const {
    uint32_t place = places[c];
    return std::u32string_view(pool).substr(place >> 8, place & 255);
  }
  std::vector<char32_t> keys;

private:
  std::u32string pool;
  CharacterMap<uint32_t> places;
};

const Texts &canonicalTexts() {
  static const Texts texts(canonicalTable);
  return texts;
}

/// The pairs of characters that compose to one, made from the decompositions that the package reverses.
struct Compositions {
  std::unordered_map<uint64_t, char32_t> pairs;
  CharacterSet seconds{{}};

  Compositions() {
    std::vector<CharacterSet::Range> last = {{hangul::vowels, hangul::vowels + hangul::vowelCount - 1},
                                             {hangul::trails + 1, hangul::trails + hangul::trailCount - 1}};
    std::vector<char32_t> made;
    for (auto [first, end] : rangesOf(recomposedTable))
      for (char32_t c = first; c <= end; ++c)
        made.push_back(c);
    for (size_t length = 2; length <= 4; ++length) // the beginnings of longer ones are in the table by then
      for (char32_t c : made)
        if (std::u32string_view text = canonicalTexts().of(c); text.size() == length) {
          char32_t begin = text[0];
          for (size_t i = 1; i + 1 < length && begin != 0; ++i)
            begin = find(begin, text[i]);
          pairs.emplace(uint64_t{begin} << 32 | text.back(), c);
          last.emplace_back(text.back(), text.back());
        }
    seconds = CharacterSet(last);
  }
  char32_t find(char32_t first, char32_t second) const {
    auto found = pairs.find(uint64_t{first} << 32 | second);
    return found == pairs.end() ? 0 : found->second;
  }
};

const Compositions &compositions() {
  static const Compositions made;
  return made;
}

} // namespace

const CharacterSet &setOf(Property property) {
  static const CharacterSet sets[] = {
      CharacterSet(rangesOf(whiteSpaceTable)),    CharacterSet(rangesOf(numericTable)), CharacterSet(rangesOf(punctuationTable)),
      CharacterSet(rangesOf(wordTable)),          CharacterSet(rangesOf(otherTable)),   CharacterSet(rangesOf(nonspacingMarkTable)),
      CharacterSet(rangesOf(combiningMarkTable)),
  };
  return sets[static_cast<size_t>(property)];
}

GraphemeBreak graphemeBreakOf(char32_t c) {
  static const CharacterMap<GraphemeBreak> breaks = [] {
    CharacterMap<GraphemeBreak> map;
    auto add = [&](const auto &table, GraphemeBreak value) {
      for (auto [first, last] : rangesOf(table))
        for (char32_t each = first; each <= last; ++each)
          map.set(each, value);
    };
    add(breakControlTable, GraphemeBreak::Control);
    add(breakExtendTable, GraphemeBreak::Extend);
    add(breakPrependTable, GraphemeBreak::Prepend);
    add(breakSpacingMarkTable, GraphemeBreak::SpacingMark);
    add(breakLTable, GraphemeBreak::L);
    add(breakVTable, GraphemeBreak::V);
    add(breakTTable, GraphemeBreak::T);
    add(breakLVTable, GraphemeBreak::LV);
    add(breakLVTTable, GraphemeBreak::LVT);
    add(breakRegionalIndicatorTable, GraphemeBreak::RegionalIndicator);
    add(breakPictographicTable, GraphemeBreak::Pictographic);
    add(breakConsonantTable, GraphemeBreak::Consonant);
    add(breakLinkerTable, GraphemeBreak::Linker); // all of them extend, too
    map.set('\r', GraphemeBreak::CarriageReturn);
    map.set('\n', GraphemeBreak::LineFeed);
    map.set(0x200d, GraphemeBreak::Joiner);
    return map;
  }();
  return breaks[c];
}

const CharacterSet *addedToCategory(std::string_view name) {
  static const std::map<std::string_view, CharacterSet> sets = [] {
    std::map<std::string_view, CharacterSet> made;
    auto add = [&](std::string_view key, const auto &table) { made.emplace(key, CharacterSet(rangesOf(table))); };
    add("L", addedLTable), add("Ll", addedLlTable), add("Lm", addedLmTable), add("Lo", addedLoTable), add("Lu", addedLuTable);
    add("M", addedMTable), add("Mc", addedMcTable), add("N", addedNTable), add("Nd", addedNdTable), add("No", addedNoTable);
    add("P", addedPTable), add("Pd", addedPdTable), add("Po", addedPoTable);
    add("S", addedSTable), add("Sm", addedSmTable), add("So", addedSoTable);
    return made;
  }();
  auto found = sets.find(name);
  return found == sets.end() ? nullptr : &found->second;
}

const CharacterSet *setOfScript(std::string_view name) {
  static const std::map<std::string_view, CharacterSet> sets = {{"Han", CharacterSet(rangesOf(scriptHanTable))},
                                                                {"Hiragana", CharacterSet(rangesOf(scriptHiraganaTable))},
                                                                {"Katakana", CharacterSet(rangesOf(scriptKatakanaTable))},
                                                                {"Hangul", CharacterSet(rangesOf(scriptHangulTable))}};
  auto found = sets.find(name);
  return found == sets.end() ? nullptr : &found->second;
}

uint8_t combiningClass(char32_t c) {
  static const CharacterMap<uint8_t> classes = [] {
    CharacterMap<uint8_t> map;
    for (size_t i = 0; i + 1 < std::size(combiningTable); i += 2)
      map.set(combiningTable[i], static_cast<uint8_t>(combiningTable[i + 1]));
    return map;
  }();
  return classes[c];
}

std::u32string_view decomposition(char32_t c, bool compatible) {
  static const Texts compatibility(compatibilityTable);
  std::u32string_view text = compatible ? compatibility.of(c) : std::u32string_view();
  return text.empty() ? canonicalTexts().of(c) : text;
}

char32_t composition(char32_t first, char32_t second) {
  using namespace hangul;
  if (first >= leads && first < leads + leadCount && second >= vowels && second < vowels + vowelCount)
    return syllables + ((first - leads) * vowelCount + (second - vowels)) * trailCount;
  if (isSyllable(first) && (first - syllables) % trailCount == 0 && second > trails && second < trails + trailCount)
    return first + (second - trails);
  return compositions().find(first, second);
}

bool composesBackwards(char32_t c) { return compositions().seconds.contains(c); }

std::u32string_view lowercase(const char32_t &c) {
  static const Texts texts(lowercaseTable);
  std::u32string_view text = texts.of(c);
  return text.empty() ? std::u32string_view(&c, 1) : text;
}

} // namespace npar::engine
