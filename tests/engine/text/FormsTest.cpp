// The ids of Python's `tokenizers` for thirty published forms of tokenizers, thousands of random texts and every code point
// (tests/reference/tokenizer_forms_reference.py). NPAR_LONG=1 compares all; otherwise, a sample.
#include "engine/json/Json.h"
#include "engine/text/Utf8.h"
#include "tests/engine/text/TinyTokenizer.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

const Json &recorded() {
  static const Json file = [] {
    std::ifstream stream(std::string(NPAR_TOKENIZERS) + "/forms.json", std::ios::binary);
    return Json::parse(stream);
  }();
  return file;
}

/// Knuth's 64-bit generator, as the script has it.
class Chance {
public:
  explicit Chance(uint64_t seed) : state(seed) {}
  uint64_t below(uint64_t limit) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % limit;
  }
  const Json &of(const Json &list) { return list[below(list.size())]; }

private:
  uint64_t state;
};

std::string randomText(uint64_t number) {
  Chance chance(number);
  std::string text;
  for (uint64_t count = chance.below(13); count > 0; --count) {
    if (chance.below(4) == 0) {
      text += chance.of(recorded()["words"]).get<std::string>();
    } else {
      const Json &script = chance.of(recorded()["scripts"]);
      char32_t low = script[0], high = script[1];
      for (uint64_t length = 1 + chance.below(6); length > 0; --length)
        text += utf8Of(low + static_cast<char32_t>(chance.below(high - low + 1)));
    }
    text += chance.of(recorded()["spacing"]).get<std::string>();
  }
  return text;
}

/// Every code point from `first` on between two letters.
std::string pointText(char32_t first, char32_t count) {
  std::string text;
  for (char32_t c = first; c < first + count; ++c)
    if (c < 0xd800 || c >= 0xe000)
      text += "a" + utf8Of(c) + "b ";
  return text;
}

/// CRC-32, as zlib computes it.
class Checksum {
public:
  void add(uint32_t number) {
    for (int byte = 0; byte < 4; ++byte, number >>= 8)
      crc = table()[(crc ^ number) & 255] ^ crc >> 8;
  }
  uint32_t value() const { return ~crc; }

private:
  static const std::array<uint32_t, 256> &table() {
    static const std::array<uint32_t, 256> made = [] {
      std::array<uint32_t, 256> entries;
      for (uint32_t i = 0; i < 256; ++i) {
        entries[i] = i;
        for (int bit = 0; bit < 8; ++bit)
          entries[i] = entries[i] & 1 ? 0xedb88320U ^ entries[i] >> 1 : entries[i] >> 1;
      }
      return entries;
    }();
    return made;
  }
  uint32_t crc = ~0U;
};

std::vector<std::string> formNames() {
  std::vector<std::string> names;
  for (const auto &form : recorded()["forms"].items())
    names.push_back(form.key());
  return names;
}

/// The form's file with its vocabulary.
std::string fileOf(const Json &form) {
  Json file = form["file"];
  const Json &vocabulary = recorded()["vocabularies"][form["vocabulary"].get<std::string>()];
  for (const char *part : {"vocab", "merges"})
    if (vocabulary.contains(part))
      file["model"][part] = vocabulary[part];
  return file.dump();
}

bool isLong() {
  const char *set = std::getenv("NPAR_LONG");
  return set && *set && std::string(set) != "0";
}

class FormsTest : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    auto opened = openJson(fileOf(form()));
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    tokenizer = *opened;
  }
  static const Json &form() { return recorded()["forms"][GetParam()]; }
  void add(const std::string &text, Checksum &sum) {
    auto ids = tokenizer->encode(text);
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    sum.add(static_cast<uint32_t>(ids->size()));
    for (int32_t id : *ids)
      sum.add(static_cast<uint32_t>(id));
  }
  std::shared_ptr<const Tokenizer> tokenizer;
};

TEST_P(FormsTest, randomTexts) {
  const Json &sums = form()["texts"];
  uint64_t block = recorded()["block"];
  ASSERT_EQ(sums.size() * block, 3000U);
  for (size_t i = 0; i < sums.size(); i += isLong() ? 1 : 6) {
    Checksum sum;
    for (uint64_t number = i * block; number < (i + 1) * block; ++number)
      add(randomText(number), sum);
    EXPECT_EQ(sum.value(), sums[i].get<uint32_t>()) << "texts " << i * block << " to " << (i + 1) * block - 1;
  }
}

TEST_P(FormsTest, everyCodePoint) {
  const Json &sums = form()["points"];
  char32_t points = recorded()["points"];
  ASSERT_EQ(sums.size() * points, 0x110000U);
  constexpr size_t sampled = 1, ofBlocks = 8; // blocks 1, 9 and so on: a mixture of scripts, and planes with few characters
  for (size_t i = isLong() ? 0 : sampled; i < sums.size(); i += isLong() ? 1 : ofBlocks) {
    Checksum sum;
    add(pointText(static_cast<char32_t>(i) * points, points), sum);
    EXPECT_EQ(sum.value(), sums[i].get<uint32_t>()) << "code points from " << std::hex << i * points;
  }
}

TEST_P(FormsTest, partsGiveTheIdsOfTheWhole) {
  std::string text;
  for (uint64_t number = 0; number < 300; ++number)
    text += randomText(number);
  std::vector<int32_t> whole = *tokenizer->encode(text);
  for (size_t part : {size_t{1}, size_t{1000}}) {
    std::vector<int32_t> ids;
    std::unique_ptr<TextEncoder> encoder = tokenizer->encoder();
    for (size_t at = 0; at < text.size(); at += part)
      ASSERT_TRUE(encoder->push(std::string_view(text).substr(at, part), ids).ok());
    ASSERT_TRUE(encoder->finish(ids).ok());
    EXPECT_TRUE(ids == whole) << part;
  }
  EXPECT_TRUE(tokenizer->decode(whole).ok());
}

INSTANTIATE_TEST_SUITE_P(All, FormsTest, ::testing::ValuesIn(formNames()), [](const auto &info) { return info.param; });

} // namespace
} // namespace npar::testing
