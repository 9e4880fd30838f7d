// Folders of tokenizers, as versions of transformers write them, have the ids of the Python packages
// (tests/reference/tokenizer_folders_reference.py).
#include "engine/json/Json.h"
#include "engine/text/Base64.h"
#include "tests/engine/text/TinyTokenizer.h"

#include <fstream>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

TEST(FoldersTest, idsOfThePythonPackages) {
  std::ifstream stream(std::string(NPAR_TOKENIZERS) + "/folders.json", std::ios::binary);
  const Json recorded = Json::parse(stream);
  ASSERT_GT(recorded["folders"].size(), 35U);
  for (const auto &[name, folder] : recorded["folders"].items()) {
    TemporaryFolder place;
    for (const auto &[file, content] : folder["files"].items())
      place.write(file, content.is_string()          ? content.get<std::string>()
                        : content.contains("base64") ? *bytesOfBase64(content["base64"].get<std::string>())
                                                     : content.dump());
    auto opened = openTokenizer(place.path());
    ASSERT_TRUE(opened.ok()) << name << ": " << opened.status().message();
    for (size_t i = 0; i < folder["texts"].size(); ++i) {
      auto ids = (*opened)->encode(folder["texts"][i].get<std::string>());
      ASSERT_TRUE(ids.ok()) << name << ": " << ids.status().message();
      EXPECT_EQ(*ids, folder["ids"][i].get<std::vector<int32_t>>()) << name << ": " << folder["texts"][i];
    }
  }
}

/// npar refuses a file for which it would give other ids. The message tells what to do.
TEST(FoldersTest, whatWouldHaveOtherIdsIsRefused) {
  const std::string vocabulary = "{\"a\":0,\"b\":1}", merges = "#version: 0.2\n";
  const std::pair<std::string, const char *> configs[] = {
      {"{\"split_special_tokens\":true}", "tokenizer_config.json': it has 'split_special_tokens'"},
      {"{\"tokenizer_class\":\"RobertaTokenizer\",\"cls_token\":null}", "its 'cls_token' is null, and the class needs one"},
      {"{\"extra_special_tokens\":{\"x\":\"<x>\",\"y\":\"<y>\"}}", "names several new special tokens, one of them '<y>', whose order"},
      {"{\"added_tokens_decoder\":{\"7\":{\"content\":\"<x>\"}}}", "gives the added token '<x>' the id 7, and the tokenizers package 2"},
  };
  TemporaryFolder folder;
  folder.write("vocab.json", vocabulary), folder.write("merges.txt", merges);
  for (const auto &[config, reason] : configs) {
    folder.write("tokenizer_config.json", config);
    std::string error = openTokenizer(folder.path()).status().message();
    EXPECT_NE(error.find(reason), std::string::npos) << error;
  }
  folder.write("tokenizer_config.json", "{}"), folder.write("config.json", "{\"model_type\":\"clip\"}");
  EXPECT_NE(openTokenizer(folder.path()).status().message().find("npar does not know that of the model_type 'clip'"), std::string::npos);
  std::string same =
      ",{\"id\":262,\"content\":\"XY\",\"normalized\":true},{\"id\":263,\"content\":\"xy\",\"normalized\":true}],\"normalizer\"";
  std::string json = tinyJson("],\"normalizer\":null", same + ":{\"type\":\"Lowercase\"}");
  EXPECT_NE(errorOfJson(json).find("the added tokens 'XY' and 'xy' are the same when they are normalized"), std::string::npos);
}

} // namespace
} // namespace npar::testing
