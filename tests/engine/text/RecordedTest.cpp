// Ids that Python's `tokenizers` and `sentencepiece` recorded (tests/reference/tokenizer_reference.py), whole and in parts.
#include "engine/json/Json.h"
#include "engine/text/Tokenizer.h"

#include <fstream>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

const std::string folder = NPAR_TOKENIZERS;

std::string fileText(const std::string &name) {
  std::ifstream file(folder + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class RecordedTest : public ::testing::TestWithParam<const char *> {};

TEST_P(RecordedTest, idsOfThePythonPackages) {
  auto opened = openTokenizer(folder + "/" + GetParam());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const Tokenizer &tokenizer = **opened;
  Json recorded = Json::parse(fileText("recorded.json"));
  std::vector<std::pair<std::string, std::vector<int32_t>>> cases = {{fileText("page.txt"), recorded["ids"][GetParam()]["page"]}};
  ASSERT_GT(cases[0].second.size(), 900U);
  for (size_t i = 0; i < recorded["cases"].size(); ++i)
    cases.emplace_back(recorded["cases"][i], recorded["ids"][GetParam()]["cases"][i]);
  ASSERT_GT(cases.size(), 20U);
  for (const auto &[text, ids] : cases)
    for (size_t part : {size_t{1}, size_t{5}, text.size() + 1}) {
      std::vector<int32_t> found;
      std::unique_ptr<TextEncoder> encoder = tokenizer.encoder();
      for (size_t at = 0; at < text.size(); at += part)
        ASSERT_TRUE(encoder->push(std::string_view(text).substr(at, part), found).ok());
      ASSERT_TRUE(encoder->finish(found).ok());
      EXPECT_EQ(found, ids) << text.substr(0, 80);
    }
}

/// Byte-level tokenizers and SentencePiece models with bytes lose nothing; others normalize.
class ComeBackTest : public RecordedTest {};

TEST_P(ComeBackTest, textsComeBack) {
  auto opened = openTokenizer(folder + "/" + GetParam());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Json recorded = Json::parse(fileText("recorded.json"));
  for (const std::string &text : recorded["cases"].get<std::vector<std::string>>()) {
    std::string back = *(*opened)->decode(*(*opened)->encode(text, /*additions=*/false), /*skipSpecial=*/false);
    // Tokenizers that mark spaces decode the mark itself as a space, and added tokens keep the space that was put before the text after
    // them.
    bool marks = (*opened)->kind() != "byte-level BPE";
    bool knowable = !marks || (text.find("\u2581") == std::string::npos && text.find("<s>") == std::string::npos);
    EXPECT_TRUE(back == text || !knowable) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecordedTest, ::testing::Values("gpt2", "llama3", "tinyllama", "llama2", "unigram"),
                         [](const auto &info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(All, ComeBackTest, ::testing::Values("gpt2", "llama3", "tinyllama", "llama2"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace npar::testing
