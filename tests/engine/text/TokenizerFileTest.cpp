// Hostile tokenizer files, and kinds that npar does not know: each is refused with its reason, none crashes.
#include "engine/json/Json.h"
#include "tests/engine/text/TinyTokenizer.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <random>

namespace npar::testing {
namespace {

using namespace engine;

/// The parts as "260/0 A/0 B/1": ids and texts with their types.
std::string formOf(const Tokenizer &tokenizer, bool ofPair) {
  std::string text;
  for (const TextPart &part : tokenizer.form(ofPair))
    text += (text.empty() ? "" : " ") + (part.id < 0 ? std::string(1, static_cast<char>('A' + part.text)) : std::to_string(part.id)) + "/" +
            std::to_string(part.type);
  return text;
}

/// A template and BERT's and RoBERTa's forms tell how texts and pairs of texts are put together.
TEST(TokenizerFileTest, formsOfTextsAndPairs) {
  auto opened = openJson(tinyJson());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(formOf(**opened, false), "260/0 A/0");
  EXPECT_EQ(formOf(**opened, true), ""); // this one has an empty list
  const std::string pair = "\"pair\":[{\"Sequence\":{\"id\":\"B\",\"type_id\":1}},{\"SpecialToken\":{\"id\":\"<end>\",\"type_id\":2}},"
                           "{\"Sequence\":{\"id\":\"A\",\"type_id\":3}}]";
  opened = openJson(tinyJson("\"pair\":[]", pair));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(formOf(**opened, true), "B/1 260/2 A/3");
  EXPECT_NE(errorOfJson(tinyJson("\"pair\":[]", pair.substr(0, pair.rfind(",{")) + "]")).find("has no text in its template"),
            std::string::npos);
  std::string text = tinyJson();
  const size_t begin = text.find("{\"type\":\"TemplateProcessing\""), end = text.find(",\"decoder\"");
  for (const char *type : {"Bert", "Roberta"}) {
    opened = openJson(std::string(text).replace(
        begin, end - begin, std::string("{\"type\":\"") + type + "Processing\",\"cls\":[\"<end>\",260],\"sep\":[\"<end>!\",261]}"));
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(formOf(**opened, false), "260/0 A/0 261/0");
    EXPECT_EQ(formOf(**opened, true), *type == 'B' ? "260/0 A/0 261/0 B/1 261/1" : "260/0 A/0 261/0 261/0 B/0 261/0");
  }
}

/// A caller that cuts and fills up texts by itself may ignore what the file states of it, unless that is on the left.
TEST(TokenizerFileTest, statedLengthsCanBeIgnored) {
  TemporaryFolder folder;
  auto error = [&](const char *side) {
    const std::string path =
        folder.write("tokenizer.json",
                     tinyJson("\"truncation\":null", std::string("\"truncation\":{\"direction\":\"") + side + "\",\"max_length\":512}"));
    return openTokenizer(path, StatedLength::Ignored).status().message();
  };
  EXPECT_EQ(error("Right"), "");
  EXPECT_NE(error("Left").find("it has a 'truncation' on the left"), std::string::npos);
}

TEST(TokenizerFileTest, whatNparWouldComputeDifferentlyIsRefusedByName) {
  struct Case {
    const char *from, *to, *reason;
  };
  const Case cases[] = {
      {"\"type\":\"BPE\"", "\"type\":\"WordPiece\"", "its model has merges, and is 'WordPiece'"},
      {"\"type\":\"BPE\"", "\"type\":\"Unigram\"", "its model has no vocabulary"},
      {"\"type\":\"BPE\"", "\"type\":\"Neural\"", "its model is 'Neural': npar knows 'BPE', 'WordPiece', 'Unigram' and 'WordLevel'"},
      {"\"type\":\"BPE\"", "\"type\":7", "its model has no 'type'"},
      {"\"normalizer\":null", "\"normalizer\":{\"type\":\"NFX\"}", "its normalizer is 'NFX': npar knows 'NFC'"},
      {"\"normalizer\":null", "\"normalizer\":{\"type\":\"NFC\",\"form\":1}", "normalizer 'NFC' has the field 'form'"},
      {"\"normalizer\":null", "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"\"}",
       "the pattern of normalizer 'Replace' is empty, or both"},
      {"\"normalizer\":null", "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AA\"}",
       "the 'precompiled_charsmap' of its normalizer is no base64"},
      {"\"normalizer\":null", "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAAAA==\"}",
       "the table of its normalizer is damaged"},
      {"\"pre_tokenizer\":{\"type\":\"ByteLevel\"", "\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"",
       "its pre-tokenizer is 'UnicodeScripts'"},
      {"\"pre_tokenizer\":{\"type\":\"ByteLevel\"", "\"pre_tokenizer\":{\"type\":\"Sequence\"", "its pre-tokenizer is 'Sequence'"},
      {"\"decoder\":{\"type\":\"ByteLevel\"", "\"decoder\":{\"type\":\"CTC\"", "its decoder is 'CTC'"},
      {"\"post_processor\":{\"type\":\"TemplateProcessing\"", "\"post_processor\":{\"type\":\"BertProcessing\"",
       "post-processor 'BertProcessing' has a 'cls' that is no text and number"},
      {"\"post_processor\":{\"type\":\"TemplateProcessing\"", "\"post_processor\":{\"type\":\"Other\"", "its post-processor is 'Other'"},
      {"\"truncation\":null", "\"truncation\":{\"max_length\":512}", "it has a 'truncation'"},
      {"\"padding\":null", "\"padding\":{\"strategy\":{\"Fixed\":8}}", "it has a 'padding'"},
      {"\"padding\":null", "\"padding\":{\"strategy\":\"BatchLongest\",\"pad_to_multiple_of\":8}", "it has a 'padding'"},
      {"\"version\":\"1.0\"", "\"version\":\"2.0\"", "it has the version '2.0': npar reads '1.0'"},
      {"\"version\":\"1.0\"", "\"version\":\"1.0\",\"mode\":1", "it has the field 'mode', which npar does not know"},
      {"\"dropout\":null", "\"dropout\":0.1", "its model has a 'dropout'"},
      {"\"byte_fallback\":false", "\"byte_fallback\":1", "its model has a 'byte_fallback' that is neither true nor false"},
      {"\"byte_fallback\":false", "\"new_setting\":false", "its model has the field 'new_setting'"},
      {"\"end_of_word_suffix\":null", "\"end_of_word_suffix\":\"</w>\"",
       "its model has 'continuing_subword_prefix' or 'end_of_word_suffix', which"},
      {"\"use_regex\":true}", "\"use_regex\":true,\"x\":1}", "pre-tokenizer 'ByteLevel' has the field 'x'"},
      {"\"ids\":[260]", "\"ids\":[999]", "puts the id 999 to every text, which no token has"},
      {"\"ids\":[260]", "\"ids\":[1.5]", "token '<end>' of the post-processor has an id that is no whole number"},
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
  EXPECT_NE(errorOfJson(tinyJson("\"type\":\"BPE\"", "\"type\":null")).find("its model has no 'type'"), std::string::npos);
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
  EXPECT_EQ(open(split("{\"Regex\":\"l\"}", "MergedWithPrevious"), "hellell"), "[he][l][l][e][l][l]");
  EXPECT_EQ(open(withSplit("{\"type\":\"Digits\",\"individual_digits\":true}"), "ll12"), "[ll][1][2]");
  const std::pair<std::string, const char *> wrong[] = {
      {split("{\"Regex\":\"l\"}", "Merged"), "has the behavior 'Merged': npar knows 'Removed', 'Isolated'"},
      {split("{\"Regex\":\"l*\"}", "Isolated"), "can match an empty text"},
      {split("{\"Regex\":\"\\\\w\"}", "Isolated"), "has '\\w' at byte 0"},
      {split("{\"Regex\":\"\"}", "Isolated"), "is empty, or both"},
      {split("{\"Regex\":\"a\",\"String\":\"b\"}", "Isolated"), "is empty, or both"},
      {split("{\"Regex\":[]}", "Isolated"), "has a 'Regex' that is no text"},
      {split("7", "Isolated"), "has a 'pattern' that is no object"},
      {withSplit("{\"type\":\"FixedLength\"}"), "its pre-tokenizer is 'FixedLength'"},
      {withSplit("{\"type\":\"Whitespace\",\"x\":1}"), "pre-tokenizer 'Whitespace' has the field 'x'"},
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
      {"\"\u0120hell\":259", "\"hell\":259", "token 'hell' is there twice"},
      {"\"\u0120hell\":259", "\"\":259", "the token with id 259 is empty"},
      {"\"hell\":258,", "\"hall\":258,", "merge 2 (from 0) needs the token 'hell', which the vocabulary lacks"},
      {"[\"l\",\"l\"]", "[\"l\"]", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "[\"l\",\"l\",\"l\"]", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "[\"l\",7]", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "\"l l l\"", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "\"ll\"", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "\" l\"", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "7", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "{\"l\":\"l\"}", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "[[\"l\",\"l\"]]", "merge 1 (from 0) is no pair of tokens"},
      {"[\"l\",\"l\"]", "\"h e\"", "the merge of 'h' and 'e' is there twice"},
      {"\"merges\":", "\"merges\":[],\"merges\":", "the key 'merges' is there twice"},
      {"\"vocab\":", "\"vocab\":{},\"vocab\":", "the key 'vocab' is there twice"},
      {"\"model\":{", "\"model\":{},\"model\":{", "the key 'model' is there twice"},
      {"\"fuse_unk\":false", "\"fuse_unk\":false,\"fuse_unk\":false", "the key 'fuse_unk' is there twice"},
      {"\"content\":\"<end>\"", "\"content\":\"\"", "an added token has 0 bytes"},
      {"{\"id\":260", "{\"id\":-5", "it gives the added token '<end>' the id -5, and the tokenizers package 260"},
      {"{\"id\":260", "{\"id\":300", "it gives the added token '<end>' the id 300, and the tokenizers package 260"},
      {"{\"id\":260", "{\"id\":18446744073709551615", "an added token has a 'id' that is no whole number"},
      {"{\"id\":260", "{\"id\":256", "it gives the added token '<end>' the id 256, and the tokenizers package 260"},
      {"{\"id\":260,\"content\":\"<end>\"", "{\"id\":260,\"content\":\"hell\"",
       "it gives the added token 'hell' the id 260, and the tokenizers package 258"},
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
      {"{}", "it has no model"},
      {"{\"version\":\"1.0\",\"model\":[]}", "it has no model"},
      {"{\"version\":\"1.0\",\"model\":{\"type\":\"BPE\"}}", "its model has no vocabulary"},
      {"{\"version\":\"1.0\",\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":{}}}", "its merges are no list"},
      {"{\"version\":\"1.0\",\"model\":{\"type\":\"BPE\",\"vocab\":[[\"a\",0]]}}", "its model has no vocabulary"},
      {"{\"version\":\"1.0\",\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0],[\"b\"]]}}",
       "token 1 (from 0) of the vocabulary is no pair of a text and a score"},
      {"{\"version\":\"1.0\",\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]],\"unk_id\":1}}",
       "its model has the 'unk_id' 1, and 1 tokens"},
      {"{\"model\":{\"vocab\":" + std::string(100'000, '['), "token 0 (from 0) of the vocabulary is no pair"},
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
    for (uint32_t changes = 1 + chance() % 2; changes > 0; --changes) {
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
  EXPECT_NE(errorWith("vocab.json", "[]").find("no JSON object"), std::string::npos);
  folder.write("vocab.json", "{\"h\":0}");
  EXPECT_NE(errorWith("added_tokens.json", "{\"new\":\"1\"}").find("added_tokens.json': added token 'new' has no id"), std::string::npos);
  EXPECT_NE(errorWith("added_tokens.json", "{\"new\":7}").find("gives the added token 'new' the id 7, and the tokenizers package 1"),
            std::string::npos);
}

TEST(TokenizerFileTest, theClassOfTheFolderTellsHowItsVocabularyIsMeant) {
  TemporaryFolder folder;
  std::string json = tinyJson();
  size_t from = json.find("\"vocab\":") + 8, to = json.find("},\"merges\"");
  folder.write("vocab.json", json.substr(from, to - from) + ",\"<s>\":260,\"</s>\":261,\"<mask>\":262}");
  folder.write("merges.txt", "h e\nl l\nhe ll");
  auto open = [&](const std::string &type, const std::string &text) {
    folder.write("tokenizer_config.json", "{\"tokenizer_class\":\"" + type + "\"}");
    auto opened = openTokenizer(folder.path());
    return opened.ok() ? pieces(**opened, text) : opened.status().message();
  };
  EXPECT_EQ(open("GPT2TokenizerFast", "h e\u0301"), "[h][ ][e][\xcc][\x81]");
  EXPECT_EQ(open("Qwen2Tokenizer", "h e\u0301"), "[h][ ][\xc3][\xa9]");
  EXPECT_EQ(open("RobertaTokenizer", "he <mask>"), "[<s>][he][ ][<mask>][</s>]");
  EXPECT_NE(open("CLIPTokenizer", "").find("its tokenizer_class is 'CLIPTokenizer': from vocab.json and merges.txt, npar reads"),
            std::string::npos);
}

TEST(TokenizerFileTest, aVocabularyOfWordPieces) {
  TemporaryFolder folder;
  folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nhe\n##ll\n##o\n,\ne\n");
  auto open = [&](const std::string &text) {
    auto opened = openTokenizer(folder.path());
    return opened.ok() ? pieces(**opened, text) : opened.status().message();
  };
  EXPECT_EQ(open("H\u00c9LLO, hellox"), "[ [CLS]][ he][ll][o][,][ [UNK]][ [SEP]]");
  EXPECT_EQ(*(*openTokenizer(folder.path()))->decode({4, 5, 6, 7}), "hello,");
  folder.write("tokenizer_config.json", "{\"tokenizer_class\":\"BertTokenizer\",\"do_lower_case\":false}");
  EXPECT_EQ(open("He he"), "[ [CLS]][ [UNK]][ he][ [SEP]]");
  folder.write("tokenizer_config.json", "{\"tokenizer_class\":\"MPNetTokenizer\"}");
  EXPECT_NE(open("").find("its tokenizer_class is 'MPNetTokenizer': from vocab.txt, npar reads 'BertTokenizer'"), std::string::npos);
  folder.write("tokenizer_config.json", "{}");
  for (auto [text, reason] :
       {std::pair("he\n[CLS]\n[SEP]", "its unknown token '[UNK]' is not in the vocabulary"), std::pair("\xff", "is not UTF-8")}) {
    folder.write("vocab.txt", text);
    EXPECT_NE(open("").find(reason), std::string::npos) << open("");
  }
}

TEST(TokenizerFileTest, tokensInTiktokensText) {
  TemporaryFolder folder;
  std::string lines;
  constexpr const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  int rank = 0;
  for (int byte = 0; byte < 256; ++byte)
    lines += std::string{digits[byte >> 2], digits[(byte & 3) << 4]} + "== " + std::to_string(rank++) + "\n";
  for (const char *token : {"aGU=", "bGw=", "aGVsbA=="}) // he, ll, hell
    lines += std::string(token) + " " + std::to_string(rank++) + "\n";
  folder.write("tokenizer.model", lines);
  auto opened = openTokenizer(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(pieces(**opened, "hell he\xe2\x82\xac<|eot_id|>"), "[<|begin_of_text|>][hell][ ][he][\xe2][\x82][\xac][<|eot_id|>]");
  EXPECT_EQ((*opened)->idOf("<|begin_of_text|>"), 259);
  EXPECT_EQ((*opened)->idOf("<|eot_id|>"), 268);
  auto errorOf = [&](const std::string &text) {
    folder.write("tokenizer.model", text);
    return openTokenizer(folder.path()).status().message();
  };
  EXPECT_NE(errorOf(lines + "aGU 259\n").find("line 260 is no token in base64 with its rank"), std::string::npos);
  EXPECT_NE(errorOf(lines + "YWI= 300\n").find("line 260 has the rank 300, and not 259"), std::string::npos);
  EXPECT_NE(errorOf(lines + "aGU= 259\n").find("is there twice"), std::string::npos);
  folder.write("tokenizer_config.json", "{\"tokenizer_class\":\"QWenTokenizer\"}");
  EXPECT_NE(errorOf(lines).find("npar reads tiktoken's text as Llama 3's only"), std::string::npos);
}

TEST(TokenizerFileTest, foldersAndOtherFiles) {
  TemporaryFolder folder;
  auto error = [](const std::string &path) { return openTokenizer(path).status().message(); };
  EXPECT_NE(error(folder.path()).find("it has neither tokenizer.json, nor vocab.json with merges.txt, nor vocab.txt, nor tokenizer.model"),
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
