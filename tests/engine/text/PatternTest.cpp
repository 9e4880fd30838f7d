// Patterns have the meaning that they have for Python's `tokenizers`, or are refused; and a text in parts is cut like the whole text.
#include "engine/text/Pattern.h"
#include "engine/text/CutReader.h"
#include "engine/text/Unicode.h"
#include "engine/text/Utf8.h"
#include "engine/text/WordCutter.h"

#include <gtest/gtest.h>
#include <random>

namespace npar::testing {
namespace {

using namespace engine;

constexpr const char *llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::vector<CutRule> rules(const char *pattern, bool keepsGaps = true) {
  auto compiled = Pattern::compile(pattern);
  EXPECT_TRUE(compiled.ok()) << compiled.status().message();
  return {splitRule(*compiled, keepsGaps ? Behavior::Isolated : Behavior::Removed, /*inverted=*/!keepsGaps)};
}

/// The words of a text that comes in parts of `part` bytes, with | between them.
std::string words(const std::vector<CutRule> &rules, const std::string &text, size_t part = std::string::npos) {
  WordCutter cutter(rules);
  std::string cut, waiting;
  auto give = [&](std::string_view word) {
    cut += std::string(word) + "|";
    return Status();
  };
  WordCutter::Place place = WordCutter::Place::Text;
  for (size_t at = 0; at < text.size() || at == 0;) {
    size_t end = part < text.size() - at ? at + part : text.size();
    while (end < text.size() && utf8Extent(std::string_view(text).substr(at, end - at)).end < end - at)
      ++end;
    waiting += text.substr(at, end - at);
    at = std::max(end, size_t{1});
    size_t done, before = cut.size();
    EXPECT_TRUE(cutter.cut(waiting, place, end < text.size(), give, done).ok());
    place = cut.size() == before ? place : WordCutter::Place::Within;
    waiting.erase(0, done);
  }
  return cut;
}

TEST(PatternTest, patternsOfTheFamilies) {
  EXPECT_EQ(words(rules(gpt2Pattern), "I'll say 3x  it's\n\nDON'T  "), "I|'ll| say| 3|x| | it|'s|\n|\n|DON|'|T|  |");
  EXPECT_EQ(words(rules(llama3), "I'LL say 31415x  it's\n\n \nDON'T  "), "I|'LL| say| |314|15|x| | it|'s|\n\n \n|DON|'T|  |");
  EXPECT_EQ(words(rules(gpt2Pattern), "\u4eca\u5929 \u0663\u0664\u00bd!\u2014"), "\u4eca\u5929| \u0663\u0664\u00bd|!\u2014|");
}

TEST(PatternTest, spaceIsUnicodesWhiteSpace) {
  std::vector<CutRule> space = rules("\\s"), other = rules("[^\\s]+"), negated = rules("\\S+"), inverse = rules("[\\S]+");
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000)
      continue;
    bool white = (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
                 c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
    std::string text = utf8Of(c);
    for (auto *rule : {&space, &other, &negated, &inverse}) {
      Span span;
      bool found = PatternMatcher(rule->front().delimiter.pattern).next(text, 0, false, span) == PatternMatcher::Found::Match;
      ASSERT_EQ(found, white == (rule == &space)) << std::hex << static_cast<unsigned>(c);
    }
    if (c == 0x3100)
      c = 0x1ffff; // no white space above, and most of the other characters are of the same kind
  }
}

TEST(PatternTest, whatMayMeanSomethingElseIsRefused) {
  const std::pair<const char *, const char *> cases[] = {
      {".", "has '.' at byte 0"},
      {"a^", "has '^' at byte 1"},
      {"a$+", "has a quantifier of '$'"},
      {"(?i:a|(?:sS))", "has 'ss' where case is ignored"},
      {"(?i:f\\x{69})", "has 'fi' where case is ignored"},
      {"(?i:\u00df)", "has a character that is not ASCII where case is ignored"},
      {"(?i:[\u00df])", "has a character that is not ASCII where case is ignored"},
      {"(?i:\\p{L})", "has the property 'L' where case is ignored"},
      {"\\w+", "has '\\w' at byte 0"},
      {"a\\b", "has '\\b' at byte 1"},
      {"\\h", "has '\\h'"},
      {"(a)\\1", "has '\\1'"},
      {"\\x41", "has '\\x' without its number in braces"},
      {"\\x{110000000}", "has '\\x' without"},
      {"\\u0041", "has '\\u'"},
      {"\\p{Greek}", "has the property 'Greek'"},
      {"\\p{Mn}", "has the property 'Mn'"},
      {"[\\P{L}]", "has a negated property in a class"},
      {"\\p{L", "has a property without its name in braces"},
      {"\\pL", "has a property without its name in braces"},
      {"[a-z&&[^b]]", "has an intersection of classes"},
      {"[a[^b]]", "has the class '[^' in a class"},
      {"[[:alpha:]]", "has the class '[:' in a class"},
      {"[a[]", "has an empty class"},
      {"[a[b]", "has a class without its end"},
      {"[]", "has an empty class"},
      {"[^]", "has an empty class"},
      {"[abc", "has a class without its end"},
      {"[\\s-z]", "has a range from or to a set"},
      {"[a-\\d]", "has a range from or to a set"},
      {"a{2}+", "has a quantifier of a quantifier"},
      {"a{,3}", "has '{'"},
      {"a{", "has '{'"},
      {"a++?", "has a quantifier of a quantifier"},
      {"(?<=a)b", "has the group '(?<'"},
      {"(?<name>a)", "has the group '(?<'"},
      {"(?m:a)", "has the group '(?m'"},
      {"(*SKIP)", "has the group '(*S'"},
      {"a\\", "has '\\' at its end"},
      {"\\K", "has '\\K'"},
      {"\xff", "has a byte that is not UTF-8"},
      {"(a", "is wrong: missing closing parenthesis"},
      {"a)", "is wrong: unmatched closing parenthesis"},
      {"[z-a]", "is wrong: range out of order"},
      {"a{99999}", "is wrong: number too big"},
      {"\\s*", "can match an empty text"},
      {"", "can match an empty text"},
      {"a|(?=b)", "can match an empty text"},
  };
  for (const auto &[pattern, reason] : cases) {
    auto compiled = Pattern::compile(pattern);
    ASSERT_FALSE(compiled.ok()) << pattern;
    EXPECT_NE(compiled.status().message().find(reason), std::string::npos) << pattern << " gave: " << compiled.status().message();
  }
  EXPECT_FALSE(Pattern::compile(std::string(20000, 'a')).ok());
  EXPECT_FALSE(Pattern::compile(std::string(5000, '(') + "a" + std::string(5000, ')')).ok());
}

TEST(PatternTest, constructsThatBothHave) {
  for (const char *pattern : {"[\\p{Lu}\\d]+", "\\p{^Ll}", "\\P{Han}", "a{2}|b{2,}|c{1,3}", "x++|y*+z|w?+v", "x+?y", "(?>a|ab)c", "(a|b)+",
                              "[-a]|[a-]|[\\-a]", "\\x{4e00}[\\x{4e00}-\\x{9fa5}]", "\\.\\[\\{\\ \\'", "[.^$(){}+*?|]", "\\d+|\\D",
                              "\\r\\n\\t\\f\\v", "]}", "(?i:'S)", "(?i:s|s)ss", "(?i:[sS])s"})
    EXPECT_TRUE(Pattern::compile(pattern).ok()) << pattern << ": " << Pattern::compile(pattern).status().message();
}

TEST(PatternTest, classesInClassesArePartsOfThem) {
  EXPECT_EQ(words(rules("[a[bc]-]+", false), "xabc-x"), "abc-|");
  EXPECT_EQ(words(rules("[a[b-]c]+", false), "xa-cbx"), "a-cb|"); // and no range from b to c
  EXPECT_EQ(words(rules("[^(\\s|[.,])]+", false), "ab (c|d,e"), "ab|c|d|e|");
}

TEST(PatternTest, charactersThatAreNewerThanTheLibraryAreOfTheirCategory) {
  EXPECT_EQ(words(rules("\\p{L}+", false), "a\U00010d50b"), "a\U00010d50b|"); // a letter since Unicode 16
  EXPECT_EQ(words(rules("[^\\p{L}]+", false), "a\U00010d50."), ".|");
  EXPECT_EQ(words(rules("\\P{L}+", false), "a\U00010d50."), ".|");
  EXPECT_EQ(words(rules("\\p{Han}+", false), "a\u4eca\u3005\u3042"), "\u4eca\u3005|");
}

/// Oniguruma's `$`, as Split(Regex(r"\s+$")) of tokenizers 0.23.3 shows it.
TEST(PatternTest, theEndIsBeforeLineFeedsToo) {
  EXPECT_EQ(words(rules("\\s+$"), "a  \n  b \n\n"), "a|  |\n  b| \n\n|");
  EXPECT_EQ(words(rules("\\s+$"), "a \r\n b  "), "a| \r|\n b|  |");
  EXPECT_EQ(words(rules("\\s++$"), "a  \n  b \n\n"), "a  \n  b| \n\n|");
  EXPECT_EQ(words(rules("b$"), "ab\u2028b\u0085b\rb"), "ab\u2028b\u0085b\r|b|");
}

TEST(PatternTest, behaviorsOfSplits) {
  auto cut = [](Behavior behavior, bool inverted = false) {
    std::vector<CutRule> rule = rules("[,.]");
    rule[0].behavior = behavior, rule[0].inverted = inverted;
    std::string whole = words(rule, "a,b..c.");
    for (size_t part : {1, 2, 3})
      EXPECT_EQ(words(rule, "a,b..c.", part), whole);
    return whole;
  };
  EXPECT_EQ(cut(Behavior::Removed), "a|b|c|");
  EXPECT_EQ(cut(Behavior::Isolated), "a|,|b|.|.|c|.|");
  EXPECT_EQ(cut(Behavior::MergedWithPrevious), "a,|b.|.|c.|");
  EXPECT_EQ(cut(Behavior::MergedWithNext), "a|,b|.|.c|.|");
  EXPECT_EQ(cut(Behavior::Contiguous), "a|,|b|..|c|.|");
  EXPECT_EQ(cut(Behavior::Removed, true), ",|.|.|.|");
  EXPECT_EQ(cut(Behavior::Contiguous, true), "a|,|b|..|c|.|");
}

TEST(PatternTest, setsTextsAndMarks) {
  EXPECT_EQ(words({splitRule(setOf(Property::WhiteSpace), Behavior::Removed), splitRule(setOf(Property::Punctuation), Behavior::Isolated)},
                  "it's\u3000a\u2014b "),
            "it|'|s|a|\u2014|b|");
  EXPECT_EQ(words({splitRule("ab", Behavior::MergedWithNext)}, "xababy"), "x|ab|aby|");
  std::vector<CutRule> metaspace = {markRule("_", CutRule::Prepend::First), splitRule("_", Behavior::MergedWithNext)};
  EXPECT_EQ(words(metaspace, "a  b"), "_a|_|_b|");
  EXPECT_EQ(words(metaspace, "_a"), "_a|");
  EXPECT_EQ(words({byteCharactersRule()}, "a \u00e9"), "a\u0120\u00c3\u00a9|");
  CharacterSet joined({{0x2581, 0x2581}, {'x', 'x'}});
  EXPECT_EQ(words({separateRule(joined)}, "a\u2581b\u2581\u2581c x\u2581d"), "a|\u2581b|\u2581\u2581c x\u2581d|");
}

TEST(PatternTest, whatLiesBetweenMatches) {
  EXPECT_EQ(words(rules("b+"), "abbacb"), "a|bb|ac|b|");
  EXPECT_EQ(words(rules("b+", false), "abbacb"), "bb|b|");
  EXPECT_EQ(words(rules("b+"), "aaa"), "aaa|");
  EXPECT_EQ(words(rules("b+", false), "aaa"), "");
  EXPECT_EQ(words({}, "any text"), "any text|");
  EXPECT_EQ(words({prefixSpaceRule()}, "any text"), " any text|");
  EXPECT_EQ(words({prefixSpaceRule()}, " any text"), " any text|");
  EXPECT_EQ(words({prefixSpaceRule()}, ""), "");
}

TEST(PatternTest, partsAreCutAsTheWhole) {
  std::mt19937 chance(11);
  const std::string alphabet[] = {"a", "B", "'",      "s",      "l",      " ",          " ",  "\n", "\r",
                                  "1", "!", "\u00e9", "\u4eca", "\u3000", "\U0001f600", "\t", "b"};
  std::vector<std::vector<CutRule>> all = {rules(gpt2Pattern),
                                           rules(llama3),
                                           rules("b+"),
                                           rules("\\s+$"),
                                           rules("ab|abab1", false),
                                           rules("\\s+(?!\\S)|[^\\s]{1,4}"),
                                           {prefixSpaceRule(), rules(gpt2Pattern)[0]},
                                           {rules("\\p{N}")[0], rules(gpt2Pattern)[0]},
                                           {prefixSpaceRule()},
                                           {markRule("\u2581", CutRule::Prepend::Always), splitRule("\u2581", Behavior::MergedWithNext)},
                                           {splitRule(setOf(Property::Numeric), Behavior::Contiguous), rules(gpt2Pattern)[0]}};
  for (int trial = 0; trial < 400; ++trial) {
    std::string text;
    for (size_t i = chance() % 60; i > 0; --i)
      text += alphabet[chance() % std::size(alphabet)];
    for (const std::vector<CutRule> &rule : all)
      for (size_t part : {1, 2, 3, 7})
        ASSERT_EQ(words(rule, text, part), words(rule, text)) << text;
  }
}

TEST(PatternTest, aPatternThatTakesForEverEnds) {
  WordCutter cutter(rules("(a+)+[bc]"));
  size_t done;
  Status status = cutter.cut(
      std::string(5000, 'a'), WordCutter::Place::Text, false, [](std::string_view) { return Status(); }, done);
  EXPECT_EQ(status.message(), "matching the pattern takes too long or too much memory");
}

} // namespace
} // namespace npar::testing
