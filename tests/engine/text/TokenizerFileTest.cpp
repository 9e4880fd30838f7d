// Hostile tokenizer files, and kinds that npar does not know: each is refused with its reason, none crashes.
#include "engine/json/Json.h"
#include "tests/engine/text/TinyTokenizer.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <random>

namespace npar::testing {
namespace {

using namespace engine;

TEST(TokenizerFileTest, whatNparWouldComputeDifferentlyIsRefusedByName) {
  struct Case {
    const char *from, *to, *reason;
  };
  const Case cases[] = {
      {"\"type\":\"BPE\"", "\"type\":\"WordPiece\"", "its model is 'WordPiece': npar knows byte-level 'BPE'"},
      {"\"type\":\"BPE\"", "\"type\":\"Unigram\"", "its model is 'Unigram'"},
      {"\"type\":\"BPE\"", "\"type\":7", "its model is of no kind that it names"},
      {"\"normalizer\":null", "\"normalizer\":{\"type\":\"NFC\"}", "its normalizer is 'NFC'"},
      {"\"normalizer\":null", "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\"}]}",
       "its normalizer is 'Prepend'"},
      {"\"pre_tokenizer\":{\"type\":\"ByteLevel\"", "\"pre_tokenizer\":{\"type\":\"Metaspace\"", "its last pre-tokenizer is 'Metaspace'"},
      {"\"pre_tokenizer\":{\"type\":\"ByteLevel\"", "\"pre_tokenizer\":{\"type\":\"Sequence\"", "its last pre-tokenizer is 'Sequence'"},
      {"\"decoder\":{\"type\":\"ByteLevel\"", "\"decoder\":{\"type\":\"WordPiece\"", "its decoder is 'WordPiece'"},
      {"\"post_processor\":{\"type\":\"TemplateProcessing\"", "\"post_processor\":{\"type\":\"BertProcessing\"",
       "its post-processor is 'BertProcessing'"},
      {"\"truncation\":null", "\"truncation\":{\"max_length\":512}", "it has a 'truncation'"},
      {"\"padding\":null", "\"padding\":{\"strategy\":\"BatchLongest\"}", "it has a 'padding'"},
      {"\"version\":\"1.0\"", "\"version\":\"2.0\"", "it has the version '2.0': npar reads '1.0'"},
      {"\"version\":\"1.0\"", "\"version\":\"1.0\",\"mode\":1", "it has the field 'mode', which npar does not know"},
      {"\"dropout\":null", "\"dropout\":0.1", "its model has a 'dropout'"},
      {"\"byte_fallback\":false", "\"byte_fallback\":true", "its pre-tokenizer is 'ByteLevel': npar knows 'Metaspace'"},
      {"\"byte_fallback\":false", "\"byte_fallback\":1", "its model has a 'byte_fallback' that is neither true nor false"},
      {"\"byte_fallback\":false", "\"new_setting\":false", "its model has the field 'new_setting'"},
      {"\"end_of_word_suffix\":null", "\"end_of_word_suffix\":\"</w>\"", "its model has the 'end_of_word_suffix' '</w>'"},
      {"\"lstrip\":false", "\"lstrip\":true", "an added token '<end>' has 'lstrip', which npar does not know"},
      {"\"single_word\":false", "\"single_word\":true", "an added token '<end>' has 'single_word'"},
      {"\"use_regex\":true}", "\"use_regex\":true,\"x\":1}", "pre-tokenizer 'ByteLevel' has the field 'x'"},
      {"\"ids\":[300]", "\"ids\":[999]", "puts the id 999 to every text, which no token has"},
      {"\"ids\":[300]", "\"ids\":[1.5]", "token '<end>' of the post-processor has an id that is no whole number"},
      {"\"special_tokens\":{\"<end>\"", "\"special_tokens\":{\"<other>\"",
       "token '<end>' of the post-processor's 'special_tokens' is no JSON object"},
      {",{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}]", "]", "has no text in its template"},
      {"{\"Sequence\":{\"id\":\"A\"", "{\"Sequence\":{\"id\":\"A\"}},{\"Sequence\":{\"id\":\"A\"", "is not of tokens around one text"},
  };
  for (const Case &test : cases) {
    std::string error = errorOfJson(tinyJson(test.from, test.to));
    EXPECT_NE(error.find(test.reason), std::string::npos) << test.to << " gave: " << error;
    EXPECT_EQ(error.find("cannot read tokenizer '"), 0U) << error;
  }
}

TEST(TokenizerFileTest, filesOfTheFirstYearsDoNotSayTheirKind) {
  EXPECT_EQ(errorOfJson(tinyJson("\"type\":\"BPE\",", "")), "");
  EXPECT_NE(errorOfJson(tinyJson("\"type\":\"BPE\"", "\"type\":null")).find("of no kind that it names"), std::string::npos);
}

TEST(TokenizerFileTest, patternsOfSplits) {
  auto withSplit = [](const std::string &split) {
    return tinyJson("\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true}",
                    "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[" + split +
                        ",{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]}");
  };
  auto split = [&](const std::string &pattern, const std::string &behavior, const std::string &invert = "false") {
    return withSplit("{\"type\":\"Split\",\"pattern\":" + pattern + ",\"behavior\":\"" + behavior + "\",\"invert\":" + invert + "}");
  };
  auto open = [&](const std::string &json, const std::string &text) {
    auto opened = openJson(json);
    return opened.ok() ? pieces(**opened, text, false) : opened.status().message();
  };
  EXPECT_EQ(open(split("{\"Regex\":\"l\"}", "Isolated"), "hellell"), "[he][l][l][e][l][l]");
  EXPECT_EQ(open(split("{\"String\":\"e\"}", "Isolated"), "hello"), "[h][e][ll][o]");
  EXPECT_EQ(open(split("{\"String\":\".\"}", "Isolated"), "he.ll"), "[he][.][ll]");
  EXPECT_EQ(open(split("{\"Regex\":\"l+\"}", "Removed", "true"), "hello hell"), "[ll][ll]");
  EXPECT_EQ(open(withSplit("{\"type\":\"Digits\",\"individual_digits\":true}"), "ll12"), "[ll][1][2]");
  const std::pair<std::string, const char *> wrong[] = {
      {split("{\"Regex\":\"l\"}", "MergedWithPrevious"), "has the behavior 'MergedWithPrevious': npar knows 'Isolated'"},
      {split("{\"Regex\":\"l\"}", "Removed"), "has the behavior 'Removed': npar"},
      {split("{\"Regex\":\"l*\"}", "Isolated"), "can match an empty text"},
      {split("{\"Regex\":\"\\\\w\"}", "Isolated"), "has '\\w' at byte 0"},
      {split("{\"Regex\":\"\"}", "Isolated"), "is empty, or both"},
      {split("{\"Regex\":\"a\",\"String\":\"b\"}", "Isolated"), "is empty, or both"},
      {split("{\"Regex\":[]}", "Isolated"), "has a 'Regex' that is no text"},
      {split("7", "Isolated"), "has a 'pattern' that is no object"},
      {withSplit("{\"type\":\"ByteLevel\"}"), "pre-tokenizer before the last is 'ByteLevel'"},
      {withSplit("{\"type\":\"Whitespace\"}"), "its pre-tokenizer is 'Whitespace'"},
      {withSplit("7"), "its pre-tokenizer is ''"},
  };
  for (const auto &[json, reason] : wrong)
    EXPECT_NE(errorOfJson(json).find(reason), std::string::npos) << errorOfJson(json);
}

TEST(TokenizerFileTest, hostileVocabularies) {
  struct Case {
    const char *from, *to, *reason;
  };
  const Case cases[] = {
      {"\"hell\":258", "\"hell\":-1", "token 'hell' has the id -1: ids are 0 to 4194303"},
      {"\"hell\":258", "\"hell\":4194304", "token 'hell' has the id 4194304"},
      {"\"hell\":258", "\"hell\":18446744073709551615", "token 'hell' has the id 9223372036854775807"},
      {"\"hell\":258", "\"hell\":1e3", "the id of token 'hell' is no whole number"},
      {"\"hell\":258", "\"hell\":null", "the id of token 'hell' is no whole number"},
      {"\"hell\":258", "\"hell\":\"258\"", "the id of token 'hell' is no whole number"},
      {"\"hell\":258", "\"hell\":{}", "the id of token 'hell' is an object"},
      {"\"hell\":258", "\"hell\":[258]", "the id of token 'hell' is a list"},
      {"\"hell\":258", "\"hell\":256", "id 256 is that of two tokens"},
      {"\"hell\":258", "\"hell\":258,\"hell\":260", "token 'hell' is there twice"},
      {"\"hell\":258", "\"hell\":258,\"\":260", "the token with id 260 is empty"},
      {"\"hell\":258,", "", "merge 2 (from 0) needs the token 'hell', which the vocabulary lacks"},
      {"[\"l\",\"l\"]", "[\"l\"]", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "[\"l\",\"l\",\"l\"]", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "[\"l\",7]", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "\"l l l\"", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "\"ll\"", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "\" l\"", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "7", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "{\"l\":\"l\"}", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "[[\"l\",\"l\"]]", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "\"h e\"", "merge 1 (from 0), of 'h' and 'e', is there twice"},
      {"\"merges\":", "\"merges\":[],\"merges\":", "the key 'merges' is there twice"},
      {"\"vocab\":", "\"vocab\":{},\"vocab\":", "the key 'vocab' is there twice"},
      {"\"model\":{", "\"model\":{},\"model\":{", "the key 'model' is there twice"},
      {"\"fuse_unk\":false", "\"fuse_unk\":false,\"fuse_unk\":false", "the key 'fuse_unk' is there twice"},
      {"\"content\":\"<end>\"", "\"content\":\"\"", "an added token has 0 bytes"},
      {"{\"id\":300", "{\"id\":-5", "added token '<end>' has the id -5"},
      {"{\"id\":300", "{\"id\":99999999999", "added token '<end>' has the id 99999999999"},
      {"{\"id\":300", "{\"id\":18446744073709551615", "an added token has a 'id' that is no whole number"},
      {"{\"id\":300", "{\"id\":256", "id 256 is that of two tokens, one of them '<end>'"},
      {"{\"id\":300,\"content\":\"<end>\"", "{\"id\":300,\"content\":\"hell\"", "added token 'hell' has the id 300, and 258 elsewhere"},
      {"\"added_tokens\":[", "\"added_tokens\":[7,", "an added token is no JSON object"},
      {"\"added_tokens\":[", "\"added_tokens\":{},\"x\":[", "it has a 'added_tokens' that is no list"},
  };
  for (const Case &test : cases) {
    std::string error = errorOfJson(tinyJson(test.from, test.to));
    EXPECT_NE(error.find(test.reason), std::string::npos) << test.to << " gave: " << error;
  }
  std::string longToken = tinyJson("\"content\":\"<end>\"", "\"content\":\"" + std::string(513, 'x') + "\"");
  EXPECT_NE(errorOfJson(longToken).find("an added token has 513 bytes: 1 to 512 are possible"), std::string::npos);
}

TEST(TokenizerFileTest, whatIsNoJsonOrTooMuchOfIt) {
  const std::pair<std::string, const char *> cases[] = {
      {"", "no valid JSON at byte"},
      {"null", "it is no JSON object"},
      {"[]", "it is no JSON object"},
      {"7", "it is no JSON object"},
      {"{}", "it has the version ''"},
      {"{\"version\":\"1.0\"}", "it has no model"},
      {"{\"version\":\"1.0\",\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0}}}", "its last pre-tokenizer is missing"},
      {"{\"version\":\"1.0\",\"model\":[]}", "it has no model"},
      {"{\"version\":\"1.0\",\"model\":{\"type\":\"BPE\"}}", "its model has no vocabulary"},
      {"{\"version\":\"1.0\",\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":{}}}", "its merges are no list"},
      {"{\"version\":\"1.0\",\"model\":{\"type\":\"BPE\",\"vocab\":[[\"a\",0]]}}", "its model has no vocabulary"},
      {"{\"version\":\"1.0\",\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]]}}", "its model is 'Unigram'"},
      {"{\"model\":{\"vocab\":" + std::string(100'000, '['), "it is nested deeper than 32"},
      {std::string(100'000, '['), "it is nested deeper than 32"},
      {"{\"a\":" + std::string(100'000, '{'), "no valid JSON"},
      {"{\"\xff\":1}", "no valid JSON at byte"},
      {"{\"a\":1e999}", "no valid JSON"},
      {"{\"a\":1}x", "no valid JSON at byte"},
      {std::string("{\"a\":1}\0", 8), "no valid JSON at byte 8"},
  };
  for (const auto &[text, reason] : cases)
    EXPECT_NE(errorOfJson(text).find(reason), std::string::npos) << text.substr(0, 60) << " gave: " << errorOfJson(text);
  std::string many = "{\"a\":[";
  for (int i = 0; i < 1'000'001; ++i)
    many += "0,";
  EXPECT_NE(errorOfJson(many + "0]}").find("it has more than 1000000 values besides its vocabulary"), std::string::npos);
}

TEST(TokenizerFileTest, everyTruncationIsRefused) {
  std::string good = tinyJson();
  TemporaryFolder folder;
  for (size_t length = 0; length < good.size(); length += length < good.size() - 200 ? 37 : 1)
    EXPECT_FALSE(openTokenizer(folder.write("tokenizer.json", good.substr(0, length))).ok()) << length;
}

TEST(TokenizerFileTest, damagedFilesAreRefusedOrWork) {
  std::mt19937 chance(17);
  std::string good = tinyJson();
  TemporaryFolder folder;
  int opened = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::string text = good;
    for (uint32_t changes = 1 + chance() % 3; changes > 0; --changes) {
      size_t at = chance() % text.size();
      switch (chance() % 4) {
      case 0:
        text[at] = static_cast<char>(chance());
        break;
      case 1:
        text.erase(at, 1 + chance() % 20);
        break;
      case 2:
        text.insert(at, text.substr(chance() % text.size(), 1 + chance() % 40));
        break;
      default:
        text[at] = "0123456789{}[],:\"\\- "[chance() % 20];
      }
    }
    auto tokenizer = openTokenizer(folder.write("tokenizer.json", text));
    if (!tokenizer.ok())
      continue;
    ++opened;
    auto ids = (*tokenizer)->encode("hello, hell <end> he's \u20ac 12");
    EXPECT_TRUE(!ids.ok() || (*tokenizer)->decode(*ids).ok());
  }
  EXPECT_GT(opened, 5); // else the damage was too great to reach anything
  EXPECT_LT(opened, 380);
}

TEST(TokenizerFileTest, vocabularyAndMerges) {
  TemporaryFolder folder;
  std::string json = tinyJson();
  size_t from = json.find("\"vocab\":") + 8, to = json.find("},\"merges\"");
  std::string vocabulary = json.substr(from, to - from) + ",\"<|endoftext|>\":260}";
  folder.write("vocab.json", vocabulary);
  folder.write("merges.txt", "#version: 0.2\nh e\r\nl l\nhe ll\n\u0120 hell");
  auto open = [&] {
    auto opened = openTokenizer(folder.path());
    return opened.ok() ? pieces(**opened, "hell hell<|endoftext|>he") : opened.status().message();
  };
  EXPECT_EQ(open(), "[hell][ hell][<|endoftext|>][he]");
  EXPECT_EQ((*openTokenizer(folder.path() + "/vocab.json"))->endOfText(), 260);
  folder.write("tokenizer_config.json", "{\"add_prefix_space\":true,\"add_bos_token\":true,\"bos_token\":\"<|endoftext|>\"}");
  EXPECT_EQ(open(), "[<|endoftext|>][ hell][ hell][<|endoftext|>][ ][he]");
  folder.write("tokenizer_config.json",
               "{\"added_tokens_decoder\":{\"260\":{\"content\":\"<|endoftext|>\",\"special\":true},\"261\":{\"content\":\"he<\"}}}");
  EXPECT_EQ(open(), "[hell][ hell][<|endoftext|>][he]");
  EXPECT_EQ((*openTokenizer(folder.path()))->idOf("he<"), 261);

  auto errorWith = [&](const std::string &name, const std::string &text) {
    folder.write(name, text);
    return open();
  };
  EXPECT_NE(errorWith("tokenizer_config.json", "{\"add_bos_token\":true,\"bos_token\":\"none\"}")
                .find("its 'bos_token' is not in the vocabulary"),
            std::string::npos);
  EXPECT_NE(errorWith("tokenizer_config.json", "{\"added_tokens_decoder\":{\"x\":{}}}").find("added token 'x' has no id"),
            std::string::npos);
  EXPECT_NE(errorWith("tokenizer_config.json", "{\"eos_token\":7}").find("its eos_token is no text"), std::string::npos);
  EXPECT_NE(errorWith("tokenizer_config.json", "{\"add_bos_token\":7}").find("'add_bos_token' that is neither true nor false"),
            std::string::npos);
  EXPECT_NE(errorWith("tokenizer_config.json", "[]").find("it is no JSON object"), std::string::npos);
  folder.write("tokenizer_config.json", "{}");
  EXPECT_NE(errorWith("merges.txt", "h e\n\nl l\n").find("merges.txt': line 2 is no pair of tokens: ''"), std::string::npos);
  EXPECT_NE(errorWith("merges.txt", "h e\nh  e").find("line 2 is no pair"), std::string::npos);
  EXPECT_NE(errorWith("merges.txt", "q q").find("vocab.json': merge 0 (from 0) needs the token 'qq'"), std::string::npos);
  EXPECT_EQ(errorWith("merges.txt", ""), "[h][e][l][l][ ][h][e][l][l][<|endoftext|>][h][e]");
  EXPECT_NE(errorWith("vocab.json", "{}").find("its vocabulary is empty"), std::string::npos);
  EXPECT_NE(errorWith("vocab.json", "[]").find("no JSON object"), std::string::npos);
  EXPECT_NE(errorWith("added_tokens.json", "{}").find("npar takes added tokens from"), std::string::npos);
}

/// Llama 2's folders have a tokenizer.json of another kind in addition to their SentencePiece model.
TEST(TokenizerFileTest, aModelBesideAFileOfAnotherKind) {
  TemporaryFolder folder;
  std::filesystem::copy(std::string(NPAR_TOKENIZERS) + "/llama2/tokenizer.model", folder.path());
  auto openWith = [&](int id, const std::string &token) {
    Json json = Json::parse(tinyJson());
    json["normalizer"] = {{"type", "Prepend"}};
    json["added_tokens"] = Json::array({{{"id", id}, {"content", token}, {"special", true}}});
    folder.write("tokenizer.json", json.dump());
    return openTokenizer(folder.path());
  };
  auto opened = openWith(1, "<s>");
  if (!opened.ok() && opened.status().message().find("was built without libsentencepiece") != std::string::npos) {
    EXPECT_NE(opened.status().message().find("its normalizer is 'Prepend'"), std::string::npos);
    GTEST_SKIP() << opened.status().message();
  }
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ((*opened)->kind(), "SentencePiece");
  folder.write("tokenizer_config.json", "{\"tokenizer_class\":\"LlamaTokenizer\",\"add_eos_token\":true}");
  opened = openTokenizer(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(*(*opened)->encode(""), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ((*opened)->encode("a")->size(), (*opened)->encode("a", false)->size() + 2);
  for (int id : {-1, 5, 1'000'000})
    EXPECT_NE(openWith(id, "<user>")
                  .status()
                  .message()
                  .find("tokenizer.json gives the id " + std::to_string(id) + " to '<user>', which the model does not"),
              std::string::npos);
  EXPECT_NE(openWith(1, "<user>").status().message().find("its normalizer is 'Prepend'"), std::string::npos);
}

TEST(TokenizerFileTest, foldersAndOtherFiles) {
  TemporaryFolder folder;
  auto error = [](const std::string &path) { return openTokenizer(path).status().message(); };
  EXPECT_NE(error(folder.path()).find("it has neither tokenizer.json, nor vocab.json with merges.txt, nor tokenizer.model"),
            std::string::npos);
  EXPECT_NE(error(folder.path() + "/none.json").find("No such file or directory"), std::string::npos);
  EXPECT_NE(error(folder.path() + "/none").find("give a folder, a tokenizer.json"), std::string::npos);
  EXPECT_NE(error("").find("give a folder"), std::string::npos);
  std::filesystem::create_directory(folder.path() + "/tokenizer.json");
  EXPECT_NE(error(folder.path()).find("it is a directory"), std::string::npos);
  EXPECT_NE(error("/dev/zero").find("give a folder"), std::string::npos);
  std::filesystem::create_symlink("/dev/zero", folder.path() + "/zero.json");
  EXPECT_NE(error(folder.path() + "/zero.json").find("it is not a regular file"), std::string::npos);
}

} // namespace
} // namespace npar::testing
