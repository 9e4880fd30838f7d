// Hostile SentencePiece models: data that the library would read without a check are refused first.
#include "engine/text/SentencePieceModel.h"
#include "engine/text/CharsMap.h"
#include "engine/text/SentencePiece.h"

#include <cstring>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7)
    bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string number(uint32_t field, uint64_t value) { return varint(field << 3) + varint(value); }
std::string text(uint32_t field, const std::string &bytes) { return varint(field << 3 | 2) + varint(bytes.size()) + bytes; }
std::string piece(const std::string &name, uint64_t type = 1) { return text(1, text(1, name) + number(3, type)); }

/// A table of a double array and texts.
std::string table(const std::vector<uint32_t> &units, const std::string &texts) {
  uint32_t length = static_cast<uint32_t>(4 * units.size());
  std::string bytes(4 + length, '\0');
  std::memcpy(bytes.data(), &length, 4);
  std::memcpy(bytes.data() + 4, units.data(), length);
  return bytes + texts;
}

const std::string space = "\u2581", good = piece("<unk>", 2) + piece(space) + piece(space + "a") + piece("b") + piece("<0x0A>", 6);
const std::string bytePairs = text(2, number(3, 2));

std::string errorOf(const std::string &model) {
  auto read = readSentencePieceModel(model);
  return read.ok() ? "" : read.status().message();
}
Result<std::shared_ptr<const Tokenizer>> open(const std::string &model, const TokenizerConfig &config = {}) {
  auto parts = partsOfSentencePiece(model, config);
  return parts.ok() ? Pipeline::create(std::move(*parts)) : parts.status();
}

TEST(SentencePieceModelTest, settings) {
  EXPECT_EQ(readSentencePieceModel(good)->unknownText, " \u2047 ");
  EXPECT_EQ(readSentencePieceModel(good + text(2, text(44, "?")))->unknownText, "?");
  EXPECT_FALSE(readSentencePieceModel(good + text(3, number(3, 0)))->spaceBefore);
  EXPECT_FALSE(readSentencePieceModel(good + text(3, number(4, 0)))->dropsExtraSpaces);
}

TEST(SentencePieceModelTest, bytePairsAndUnigrams) {
  for (const std::string &kind : {std::string(), bytePairs}) {
    auto tokenizer = open(piece("<unk>", 2) + piece("<s>", 3) + piece(space) + piece("a") + piece(space + "a") + piece("b", 4) + kind);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    EXPECT_EQ((*tokenizer)->kind(), "SentencePiece");
    EXPECT_EQ(*(*tokenizer)->encode("a  ab "), (std::vector<int32_t>{4, 4, 5}));
    EXPECT_EQ(*(*tokenizer)->encode("xyz"), (std::vector<int32_t>{2, 0}));
    EXPECT_EQ(*(*tokenizer)->decode({1, 4, 4, 0}), "a a \u2047 ");
  }
}

TEST(SentencePieceModelTest, theClassTellsIdsAndTokensAround) {
  std::string model =
      piece("<unk>", 2) + piece("<s>", 3) + piece("</s>", 3) + piece(space) + piece("a") + piece("[CLS]", 3) + piece("[SEP]", 3);
  auto ids = [&](const std::string &type) {
    TokenizerConfig config;
    config.exists = true, config.type = type, config.addBegin = true, config.extraIds = 0;
    config.lowercase = false, config.keepsAccents = true; // npar refuses ALBERT's others
    auto tokenizer = open(model, config);
    return tokenizer.ok() ? *(*tokenizer)->encode("a<mask>") : std::vector<int32_t>();
  };
  EXPECT_EQ(ids("LlamaTokenizer"), (std::vector<int32_t>{1, 3, 4, 0, 4, 0}));
  EXPECT_EQ(ids("T5Tokenizer"), (std::vector<int32_t>{3, 4, 0, 4, 0, 2}));
  EXPECT_EQ(ids("AlbertTokenizer"), (std::vector<int32_t>{5, 3, 4, 0, 4, 0, 6}));
  EXPECT_EQ(ids("XLMRobertaTokenizer"), (std::vector<int32_t>{0, 4, 5, 8, 2}));
  EXPECT_EQ(ids("XLNetTokenizer"), std::vector<int32_t>());
  for (auto [type, reason] : {std::pair("LlamaTokenizer", "tokenizer_config.json lacks 'add_bos_token'"),
                              std::pair("AlbertTokenizer", "'AlbertTokenizer' makes letters small or removes accents")}) {
    TokenizerConfig config;
    config.exists = true, config.type = type;
    EXPECT_NE(open(model, config).status().message().find(reason), std::string::npos) << open(model, config).status().message();
  }
}

TEST(SentencePieceModelTest, whatCannotBeEncodedIsRefused) {
  const std::pair<std::string, const char *> cases[] = {
      {piece("a"), "it has 0 unknown pieces instead of one"},
      {good + piece("<u>", 2), "it has 2 unknown pieces"},
      {good + piece("c", 3), "piece 5, 'c', is a character, and no text"},
      {good + piece("b"), "token 'b' is there twice"},
      {good + text(2, number(3, 3)), "it is a model of words"},
      {good + text(2, number(3, 9)), "it has the kind 9"},
      {good + bytePairs, "piece 2, '\u2581a', has the character 'a', which is no piece"},
      {good + piece("a") + piece("a" + space, 5) + bytePairs, "is unused, which npar does not know in a model of byte pairs"},
      {piece("<unk>", 2) + piece(space) + piece("a") + text(2, number(3, 2) + number(35, 1)), "lacks the byte token <0x00>"},
  };
  for (const auto &[model, reason] : cases)
    EXPECT_NE(open(model).status().message().find(reason), std::string::npos) << open(model).status().message();
}

TEST(SentencePieceModelTest, hostileModels) {
  const std::pair<std::string, const char *> cases[] = {
      {"", "it is no SentencePiece model, or cut short"},
      {"\x0a", "it is no SentencePiece model, or cut short"},
      {"{\"version\": 1}", "it is no SentencePiece model, or cut short"},
      {bytePairs, "it is no SentencePiece model, or cut short"},
      {good + "\x0b", "it is no SentencePiece model"},                     // a group
      {good + "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "it is no"}, // a length of 2^64 - 1
      {good + std::string(11, '\xff'), "it is no"},                        // a number without its end
      {good + piece(""), "piece 5 is damaged, empty or longer than 4096 bytes"},
      {good + text(1, ""), "piece 5 is damaged, empty"},
      {good + piece(std::string(5000, 'x')), "piece 5 is damaged, empty or longer"},
      {good + text(1, "\x0a\x7f"), "piece 5 is damaged"},
      {good + piece("\xff"), "piece 5 is not UTF-8"},
      {good + piece(std::string("a\0b", 3)), "piece 5 is not UTF-8"},
      {good + piece("<0xZZ>", 6), "piece 5, '<0xZZ>', is no byte"},
      {good + piece("a", 6), "piece 5, 'a', is no byte"},
      {good + text(2, number(24, 1)), "have their space at the end"},
      {good + text(2, "\x0a\x7f"), "its training settings are damaged"},
      {good + text(3, "\x12\x7f"), "its normalizer is damaged"},
      {good + text(5, text(2, "rules")), "it has a denormalizer"},
      {good + piece("a", 7), "piece 5, 'a', has the type 7"},
  };
  for (const auto &[model, reason] : cases)
    EXPECT_NE(errorOf(model).find(reason), std::string::npos) << errorOf(model);
}

TEST(SentencePieceModelTest, tablesThatLeadOutsideOfThemselves) {
  auto withTable = [](const std::string &bytes) {
    auto map = CharsMap::read(bytes);
    return map.ok() ? "" : map.status().message();
  };
  const std::string damaged = "the table of its normalizer is damaged";
  std::vector<uint32_t> units(512, 1); // a label that no place has
  units[0] = 256 << 10;
  EXPECT_EQ(withTable(table(units, std::string("x\0", 2))), "");
  EXPECT_EQ(withTable(table(units, "x")), damaged); // no zero byte ends the last text
  EXPECT_EQ(withTable(table(units, "")), damaged);
  EXPECT_EQ(withTable(table({}, std::string(1, '\0'))), damaged);
  units[0] = 512 << 10;
  EXPECT_EQ(withTable(table(units, std::string(1, '\0'))), damaged); // the first node's children are past the end
  units[0] = 0xfffffU << 10 | 1U << 9;
  EXPECT_EQ(withTable(table(units, std::string(1, '\0'))), damaged);
  units[0] = 256 << 10;
  units[256 + 'a'] = 'a' | 1U << 8 | uint32_t{'a'} << 10; // 'a' ends a rule: the place of its text is at 256
  units[256] = 1;
  EXPECT_EQ(withTable(table(units, std::string("x\0", 2))), "");
  units[256] = 2; // past the texts
  EXPECT_EQ(withTable(table(units, std::string("x\0", 2))), damaged);
  units[256] = 1;
  units[256 + 'a'] = 'a' | 1U << 8 | uint32_t{600} << 10; // its children are past the end
  EXPECT_EQ(withTable(table(units, std::string("x\0", 2))), damaged);
  units[256 + 'a'] = 'a' | uint32_t{'a'} << 10; // a node that is its own child ends all the same
  EXPECT_EQ(withTable(table(units, std::string("x\0", 2))), "");
  std::string cut = table(units, std::string("x\0", 2));
  for (size_t length = 1; length < cut.size(); ++length)
    EXPECT_EQ(withTable(cut.substr(0, length)), damaged) << length;
}

} // namespace
} // namespace npar::testing
