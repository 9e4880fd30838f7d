// Tokenizer files of Llama 2's kind: spaces that are marked, characters that are bytes, and what is refused.
#include "engine/json/Json.h"
#include "tests/engine/text/TinyTokenizer.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <random>

namespace npar::testing {
namespace {

using namespace engine;

const char *const mark = "\u2581";

Json component(const char *type, Json fields) {
  fields["type"] = type;
  return fields;
}
Json replace(const char *from, const char *to) { return component("Replace", {{"pattern", {{"String", from}}}, {"content", to}}); }
Json prepend() { return component("Prepend", {{"prepend", mark}}); }
Json sequence(const char *list, std::vector<Json> parts) { return {{"type", "Sequence"}, {list, std::move(parts)}}; }
Json metaspace(const char *scheme) { return component("Metaspace", {{"replacement", mark}, {"prepend_scheme", scheme}, {"split", false}}); }
Json decoders() {
  return sequence("decoders", {replace(mark, " "),
                               {{"type", "ByteFallback"}},
                               {{"type", "Fuse"}},
                               component("Strip", {{"content", " "}, {"start", 1}, {"stop", 0}})});
}

/// The 256 bytes, the mark, a, b, c, "ab", the mark with "a", two marks; "<s>", which is an added token, too.
Json file() {
  Json vocabulary = Json::object(), merges = Json::array();
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<unsigned>(byte));
    vocabulary[name] = byte;
  }
  const std::string marked = mark;
  int id = 256;
  for (const std::string &token :
       {marked, std::string("a"), std::string("b"), std::string("c"), std::string("ab"), marked + "a", marked + marked})
    vocabulary[token] = id++;
  vocabulary["<s>"] = 300;
  merges.push_back(Json::array({"a", "b"}));
  merges.push_back(Json::array({marked, "a"}));
  merges.push_back(Json::array({marked, marked}));
  return {
      {"version", "1.0"},
      {"added_tokens", {{{"id", 300}, {"content", "<s>"}, {"normalized", false}, {"special", true}}}},
      {"normalizer", sequence("normalizers", {prepend(), replace(" ", mark)})},
      {"pre_tokenizer", nullptr},
      {"post_processor", nullptr},
      {"decoder", decoders()},
      {"model",
       {{"type", "BPE"}, {"byte_fallback", true}, {"fuse_unk", true}, {"unk_token", "<s>"}, {"vocab", vocabulary}, {"merges", merges}}}};
}

std::string cut(const Json &json, const std::string &text) {
  auto opened = openJson(json.dump());
  return opened.ok() ? pieces(**opened, text) : opened.status().message();
}

TEST(MarkedSpacesTest, aSpaceBeforeEveryTextOrWhereNoneIs) {
  Json json = file();
  EXPECT_EQ(cut(json, "ac"), "[ a][c]");
  EXPECT_EQ(cut(json, " ac"), "[ ][ a][c]");
  EXPECT_EQ(cut(json, " bc"), "[  ][b][c]");
  EXPECT_EQ(cut(json, "ab ac<s>a<s> b"), "[ ][ab][ a][c][<s>][ a][<s>][  ][b]");
  EXPECT_EQ(cut(json, ""), "");
  json["normalizer"] = replace(" ", mark);
  EXPECT_EQ(cut(json, "ac a"), "[a][c][ a]");
  json["normalizer"] = nullptr, json["pre_tokenizer"] = metaspace("always");
  EXPECT_EQ(cut(json, "ac<s>ac<s> a"), "[ a][c][<s>][ a][c][<s>][ a]");
  EXPECT_EQ(cut(json, std::string(mark) + "a"), "[ a]");
  json["pre_tokenizer"] = metaspace("first");
  EXPECT_EQ(cut(json, "ac<s>ac"), "[ a][c][<s>][a][c]");
  EXPECT_EQ(cut(json, "<s>ac"), "[<s>][a][c]");
  EXPECT_EQ(cut(json, " ac"), "[ a][c]");
  json["pre_tokenizer"] = metaspace("never");
  EXPECT_EQ(cut(json, "ac a"), "[a][c][ a]");
}

TEST(MarkedSpacesTest, charactersWithoutATokenAreBytes) {
  Json json = file();
  EXPECT_EQ(cut(json, "x\u20ac"), "[ ][x][\xe2][\x82][\xac]");
  auto tokenizer = *openJson(json.dump());
  EXPECT_EQ(tokenizer->kind(), "BPE of characters");
  EXPECT_EQ(*tokenizer->encode("\n"), (std::vector<int32_t>{256, 10}));
  for (const std::string &text : {std::string("a \u20ac\n\0 ab", 11), std::string("  a"), std::string(" "), std::string()})
    EXPECT_EQ(*tokenizer->decode(*tokenizer->encode(text)), text);
  EXPECT_EQ(*tokenizer->decode(*tokenizer->encode("<s>a b"), false), "<s> a b"); // as in Python: the first token alone loses its space
  // A space that has no token is the bytes of its mark.
  json["model"]["vocab"].erase(mark), json["model"]["merges"] = Json::array();
  EXPECT_EQ(cut(json, "a"), "[\xe2][\x96][\x81][a]");
}

TEST(MarkedSpacesTest, mergesThatReachOverASpaceSeeTheWholeText) {
  Json json = file();
  json["model"]["vocab"][std::string("c") + mark] = 280;
  json["model"]["merges"].insert(json["model"]["merges"].begin(), Json::array({"c", mark}));
  EXPECT_EQ(cut(json, "c a"), "[ ][c ][a]");
  EXPECT_EQ(cut(json, "cc  ac"), "[ ][c][c ][ a][c]");
}

TEST(MarkedSpacesTest, partsGiveTheIdsOfTheWhole) {
  std::mt19937 chance(23);
  const std::string bits[] = {"a", "b", "c", "ab", " ", " ", "  ", mark, "<s>", "<s", "\u20ac", "x", "\n"};
  std::vector<Json> files(4, file());
  files[1]["normalizer"] = nullptr, files[1]["pre_tokenizer"] = metaspace("first");
  files[2]["normalizer"] = replace(" ", mark);
  files[3]["model"]["vocab"][std::string("c") + mark] = 280;
  for (const Json &json : files) {
    auto tokenizer = *openJson(json.dump());
    std::string text;
    while (text.size() < 150'000)
      text += bits[chance() % std::size(bits)];
    std::vector<int32_t> whole = *tokenizer->encode(text);
    for (size_t part : {1, 7, 100'003}) {
      std::vector<int32_t> ids;
      auto encoder = tokenizer->encoder();
      for (size_t at = 0; at < text.size(); at += part)
        ASSERT_TRUE(encoder->push(std::string_view(text).substr(at, part), ids).ok());
      ASSERT_TRUE(encoder->finish(ids).ok() && ids == whole) << part;
    }
  }
}

TEST(MarkedSpacesTest, othersAreRefusedByName) {
  auto errorOf = [](void (*change)(Json &)) {
    Json json = file();
    change(json);
    return errorOfJson(json.dump());
  };
  const std::pair<void (*)(Json &), const char *> cases[] = {
      {[](Json &json) { json["model"]["vocab"].erase("<0x41>"); }, "its vocabulary lacks the byte token <0x41>"},
      {[](Json &json) {
         json["normalizer"]["normalizers"][1]["pattern"] = {{"Regex", "."}};
       },
       "has '.' at byte 0"},
      {[](Json &json) { json["normalizer"] = nullptr, json["pre_tokenizer"] = metaspace("last"); }, "has the prepend_scheme 'last'"},
      {[](Json &json) {
         json["normalizer"] = nullptr, json["pre_tokenizer"] = metaspace("first"), json["pre_tokenizer"]["add_prefix_space"] = false;
       },
       "has the prepend_scheme 'first', and a false 'add_prefix_space'"},
      {[](Json &json) {
         json["normalizer"] = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}}, json["pre_tokenizer"] = metaspace("first");
       },
       "has the prepend_scheme 'first' after a normalizer 'Strip'"},
      {[](Json &json) {
         json["decoder"] = {{"type", "CTC"}};
       },
       "its decoder is 'CTC'"},
      {[](Json &json) {
         json["decoder"]["decoders"].push_back({{"type", "ByteFallback"}});
       },
       "its decoder is 'ByteFallback'"},
      {[](Json &json) { json["decoder"]["decoders"][3]["start"] = 2; }, "takes something else away than one space"},
      {[](Json &json) { json["decoder"]["decoders"][0] = replace("_", "-"); }, "decoder 'Replace' replaces something else"},
  };
  for (const auto &[change, reason] : cases)
    EXPECT_NE(errorOf(change).find(reason), std::string::npos) << reason << " gave: " << errorOf(change);
}

} // namespace
} // namespace npar::testing
