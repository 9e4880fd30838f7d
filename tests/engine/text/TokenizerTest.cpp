// Texts to ids and back: parts, added tokens, bytes, what a text may hold.
#include "tests/engine/text/TinyTokenizer.h"

#include <gtest/gtest.h>
#include <random>

namespace npar::testing {
namespace {

using namespace engine;

std::shared_ptr<const Tokenizer> open(const std::string &text) {
  auto opened = openJson(text);
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  return *opened;
}

/// Ids of a text that is pushed in parts.
std::vector<int32_t> inParts(const Tokenizer &tokenizer, const std::string &text, size_t part) {
  std::vector<int32_t> ids;
  std::unique_ptr<TextEncoder> encoder = tokenizer.encoder();
  for (size_t at = 0; at < text.size(); at += part)
    EXPECT_TRUE(encoder->push(std::string_view(text).substr(at, part), ids).ok());
  EXPECT_TRUE(encoder->finish(ids).ok());
  return ids;
}

TEST(TokenizerTest, mergesWithinWordsByRank) {
  auto tokenizer = open(tinyJson());
  EXPECT_EQ(tokenizer->kind(), "byte-level BPE");
  EXPECT_EQ(tokenizer->vocabularySize(), 262);
  EXPECT_EQ(pieces(*tokenizer, "hello hello helll", false), "[hell][o][ hell][o][ hell][l]");
  EXPECT_EQ(pieces(*tokenizer, "he\nll", false), "[he][\n][ll]");
  EXPECT_EQ(pieces(*tokenizer, "", false), "");
  EXPECT_EQ(*tokenizer->encode("!\"", false), (std::vector<int32_t>{0, 1}));
}

TEST(TokenizerTest, aTemplateGoesAroundEveryText) {
  auto tokenizer = open(tinyJson());
  EXPECT_EQ(pieces(*tokenizer, "he"), "[<end>][he]");
  EXPECT_EQ(pieces(*tokenizer, ""), "[<end>]");
  auto both = open(tinyJson("{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}]",
                            "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"<end>\"}}]"));
  EXPECT_EQ(pieces(*both, "he"), "[<end>][he][<end>]");
  EXPECT_EQ(pieces(*both, "he", false), "[he]");
}

TEST(TokenizerTest, addedTokensAreFoundFirstAndTheLongestWins) {
  auto tokenizer = open(tinyJson());
  EXPECT_EQ(pieces(*tokenizer, "he<end>ll<end>!<end<end>>", false), "[he][<end>][ll][<end>!][<][e][n][d][<end>][>]");
  EXPECT_TRUE(tokenizer->isSpecial(260));
  EXPECT_FALSE(tokenizer->isSpecial(261));
  EXPECT_FALSE(tokenizer->isSpecial(-1));
  EXPECT_FALSE(tokenizer->isSpecial(1 << 30));
  EXPECT_EQ(tokenizer->idOf("<end>"), 260);
  EXPECT_EQ(tokenizer->idOf("hell"), 258);
  EXPECT_EQ(tokenizer->idOf("nothing"), std::nullopt);
}

TEST(TokenizerTest, tokensBeforeNormalizingGoFirst) {
  // "a<end" is looked for in what "<end>" leaves.
  std::string more = ",{\"id\":262,\"content\":\"a<end\",\"normalized\":true,\"special\":false},{\"id\":263,\"content\":\"a<e\","
                     "\"normalized\":true}],\"normalizer\"";
  auto tokenizer = open(tinyJson("],\"normalizer\"", more));
  EXPECT_EQ(pieces(*tokenizer, "a<end>a<end-a<e", false), "[a][<end>][a<end][-][a<e]");
}

TEST(TokenizerTest, partsGiveTheIdsOfTheWhole) {
  std::string more = ",{\"id\":262,\"content\":\"a<end\",\"normalized\":true,\"special\":false}],\"normalizer\"";
  std::mt19937 chance(3);
  const std::string bits[] = {"<end>", "<end>!", "<en", "a<end", "hell", "h", "e", "l", " ", "\n", "\u20ac", "!", "'s", "1"};
  for (const std::string &json :
       {tinyJson(), tinyJson("],\"normalizer\"", more), tinyJson("\"add_prefix_space\":false", "\"add_prefix_space\":true"),
        tinyJson("\"use_regex\":true", "\"use_regex\":false")}) {
    auto tokenizer = open(json);
    bool spaces = json.find("\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},\"post") != std::string::npos;
    std::string text;
    while (text.size() < 200'000) // several of the parts that an encoder looks at together
      text += bits[chance() % std::size(bits)];
    std::vector<int32_t> whole = *tokenizer->encode(text);
    for (size_t part : {1, 7, 65536, 100'003})
      ASSERT_TRUE(inParts(*tokenizer, text, part) == whole) << part;
    ASSERT_TRUE(spaces || *tokenizer->decode(whole, /*skipSpecial=*/false) == "<end>" + text);
  }
}

TEST(TokenizerTest, aSpaceBeforeEveryPiece) {
  auto tokenizer = open(tinyJson("\"add_prefix_space\":false", "\"add_prefix_space\":true"));
  EXPECT_EQ(pieces(*tokenizer, "hell hell<end>hell<end> hell", false), "[ hell][ hell][<end>][ hell][<end>][ hell]");
  EXPECT_EQ(pieces(*tokenizer, "", false), "");
}

TEST(TokenizerTest, wholeWordsBeforeMerges) {
  std::string json = tinyJson(",\"\u0120 hell\"]", "]");
  json.replace(json.find("\"\u0120hell\":259"), 12, "\"llo\":259");
  EXPECT_EQ(pieces(*open(json), "llo", false), "[ll][o]");
  json.replace(json.find("\"ignore_merges\":false"), 21, "\"ignore_merges\":true");
  EXPECT_EQ(pieces(*open(json), "llo llo", false), "[llo][ ][ll][o]");
}

TEST(TokenizerTest, textThatIsNotUtf8IsRefusedAtItsByte) {
  auto tokenizer = open(tinyJson());
  EXPECT_NE(pieces(*tokenizer, "he\xff").find("the text is not UTF-8: 0xff at byte 2; 'iconv"), std::string::npos);
  EXPECT_NE(pieces(*tokenizer, "he \xe2\x82").find("not UTF-8: 0xe2 at byte 3"), std::string::npos);
  std::vector<int32_t> ids;
  auto encoder = tokenizer->encoder();
  Status status;
  for (int i = 0; i < 100'000 && status.ok(); ++i)
    status = encoder->push(i == 70'000 ? "\xc3\xc3" : "hell ", ids);
  EXPECT_NE(status.message().find("0xc3 at byte 350000"), std::string::npos) << status.message();
}

TEST(TokenizerTest, aByteWithoutATokenIsNamed) {
  auto tokenizer = open(tinyJson("\"x\":87,", "\"xx\":87,"));
  EXPECT_EQ(pieces(*tokenizer, "he max"), "the vocabulary has no token for the byte 0x78, in the word at byte 2");
  EXPECT_EQ(pieces(*tokenizer, "he ma", false), "[he][ ][m][a]");
}

TEST(TokenizerTest, zeroBytesAndLongWords) {
  auto tokenizer = open(tinyJson());
  std::string zeros(1000, '\0'), word(1'000'000, 'l'), spaces(1'000'000, ' ');
  EXPECT_EQ(tokenizer->encode(zeros, false)->size(), 1000U);
  EXPECT_EQ(*tokenizer->encode(word, false), std::vector<int32_t>(500'000, *tokenizer->idOf("ll")));
  EXPECT_EQ(tokenizer->encode(spaces, false)->size(), 1'000'000U);
  for (const std::string &text : {zeros, word, spaces})
    EXPECT_EQ(*tokenizer->decode(*tokenizer->encode(text, false)), text);
}

TEST(TokenizerTest, decodingShowsWholeCharacters) {
  auto tokenizer = open(tinyJson());
  std::string text = "he\u20ac\U0001f600!";
  TextDecoder decoder(*tokenizer);
  std::string all;
  std::vector<int32_t> ids = *tokenizer->encode(text);
  for (int32_t id : ids) {
    std::string part = *decoder.push(id);
    EXPECT_EQ(wholeCharacters(part), part.size());
    EXPECT_TRUE(part.empty() || (static_cast<uint8_t>(part[0]) & 0xc0) != 0x80) << part;
    all += part;
  }
  EXPECT_EQ(all, text);
  EXPECT_EQ(decoder.finish(), "");

  // A text that stops within a character is given to its last byte; bytes that are none do not wait for ever.
  std::vector<int32_t> cut = *tokenizer->encode("a\u20ac", false);
  cut.pop_back();
  EXPECT_EQ(*tokenizer->decode(cut), "a\xe2\x82");
  int32_t lone = *tokenizer->idOf("\u00ff");
  EXPECT_EQ(*decoder.push(lone), "\xff");
  for (int32_t id : {cut[1], cut[1], cut[2]})
    EXPECT_TRUE(decoder.push(id).ok());
  EXPECT_EQ(decoder.finish(), "\xe2\x82");
}

TEST(TokenizerTest, specialTokensAreShownOrNot) {
  auto tokenizer = open(tinyJson());
  std::vector<int32_t> ids = *tokenizer->encode("he<end>ll<end>!");
  EXPECT_EQ(*tokenizer->decode(ids, /*skipSpecial=*/false), "<end>he<end>ll<end>!");
  EXPECT_EQ(*tokenizer->decode(ids), "hell<end>!");
}

TEST(TokenizerTest, noIdIsRefusedByNumber) {
  auto tokenizer = open(tinyJson());
  for (int32_t id : {-1, 262, 299, 1 << 30})
    EXPECT_EQ(tokenizer->decode({id}).status().message(), std::to_string(id) + " is no id of the tokenizer, whose vocabulary has 262");
}

TEST(TokenizerTest, theEndOfTextIsWhatTheFolderSays) {
  TemporaryFolder folder;
  folder.write("tokenizer.json", tinyJson());
  EXPECT_EQ((*openTokenizer(folder.path()))->endOfText(), std::nullopt);
  folder.write("tokenizer_config.json", "{\"eos_token\":{\"content\":\"<end>\"},\"model_max_length\":1e30,\"chat_template\":[]}");
  EXPECT_EQ((*openTokenizer(folder.path()))->endOfText(), 260);
  folder.write("tokenizer_config.json", "{\"eos_token\":\"<end>!\"}");
  EXPECT_EQ((*openTokenizer(folder.path()))->endOfText(), 261);
}

TEST(TokenizerTest, bytesAreTokens) {
  auto bytes = *openTokenizer("bytes");
  EXPECT_EQ(bytes->vocabularySize(), 256);
  EXPECT_EQ(*bytes->encode(std::string("a\0\xff", 3)), (std::vector<int32_t>{'a', 0, 255}));
  EXPECT_EQ(*bytes->decode({0xe2, 0x82, 0xac}), "\u20ac");
  EXPECT_EQ(bytes->decode({256}).status().message(), "256 is no byte");
}

} // namespace
} // namespace npar::testing
