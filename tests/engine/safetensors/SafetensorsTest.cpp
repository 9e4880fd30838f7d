// Safetensors files: good ones are read whole and by ranges, and what happens to an open file is an error of that read. Hostile ones are in
// HostileSafetensorsTest.
#include "engine/safetensors/Safetensors.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;

std::string tensor(const std::string &shape, const std::string &offsets, const std::string &type = "F32") {
  return "{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

TEST(SafetensorsTest, goodHeaders) {
  const std::pair<std::string, uint64_t> cases[] = {
      {"{}", 0},
      {"{\"a\":" + tensor("[2,3]", "[0,24]") + "}   ", 24},
      {"{\"__metadata__\":{\"k\":\"v\"},\"a\":" + tensor("[]", "[0,4]") + "}", 4},
      {"{\"a\":" + tensor("[4]", "[0,4]", "BOOL") + "}", 4},
      {"{\"a\":" + tensor("[4]", "[0,2]", "F4") + "}", 2},
      {"{\"a\":" + tensor("[4]", "[0,3]", "F6_E2M3") + "}", 3},
      {"{\"a\":" + tensor("[2]", "[0,16]", "C64") + "}", 16},
      // Tensors without elements: at the beginning, between others and at the end, several at one place; a product of 0 wraps nowhere.
      {"{\"a\":" + tensor("[0,5]", "[0,0]") + "}", 0},
      {"{\"a\":" + tensor("[0,9223372036854775807,4]", "[0,0]") + "}", 0},
      {"{\"z\":" + tensor("[0]", "[4,4]") + ",\"a\":" + tensor("[1]", "[0,4]") + ",\"b\":" + tensor("[1]", "[4,8]") +
           ",\"c\":" + tensor("[0]", "[8,8]") + ",\"d\":" + tensor("[3,0]", "[8,8]") + ",\"e\":" + tensor("[0]", "[0,0]") + "}",
       8}};
  for (const auto &[header, bytes] : cases) {
    auto result = parseSafetensorsHeader(header.data(), header.size(), bytes);
    EXPECT_TRUE(result.ok()) << header << ": " << result.status().message();
  }
  std::string words = R"({"__metadata__":{"format":"pt","of":"\u00fc"}})";
  EXPECT_EQ(parseSafetensorsHeader(words.data(), words.size(), 0)->metadata.at("of"), "\u00fc");
}

/// A file of these tensors and bytes, removed at the end.
class SafetensorsFiles : public ::testing::Test {
protected:
  void TearDown() override { ::unlink(path.c_str()); }
  void write(const std::vector<std::pair<std::string, StoredTensor>> &tensors, const std::string &bytes) {
    auto laid = tensors;
    content = safetensorsHeader(laid) + bytes;
    std::ofstream(path, std::ios::binary) << content;
  }
  std::string path = "/tmp/npar-safetensors-" + std::to_string(::getpid());
  std::string content;
};

TEST_F(SafetensorsFiles, everyTruncationIsRefused) {
  write({{"w", {"F32", {2}, 0, 0}}}, std::string(8, '\x01'));
  for (size_t length = 0; length <= content.size(); ++length) {
    std::ofstream(path, std::ios::binary) << content.substr(0, length);
    EXPECT_EQ(SafetensorsFile::open(path).ok(), length == content.size()) << length;
  }
}

// A file that is cut while it is open: what is left is still read, what is gone is an error that names file, byte and tensor.
TEST_F(SafetensorsFiles, aFileThatShrinksIsAnError) {
  constexpr uint64_t each = 1 << 20;
  write({{"kept", {"F32", {each}, 0, 0}}, {"gone", {"F32", {each}, 0, 0}}}, std::string(8 * each, '\0'));
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  uint64_t end = content.size() - 4 * each + 4;
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(end)), 0);
  EXPECT_TRUE((*file)->read<float>((*file)->tensors().at("kept")).ok());
  EXPECT_TRUE((*file)->read<float>((*file)->tensors().at("gone"), 0, 1).ok());
  auto gone = (*file)->read<float>((*file)->tensors().at("gone"));
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.status().code(), Code::BadInput);
  EXPECT_EQ(gone.status().message(), "cannot read weights '" + path + "': it ends at byte " + std::to_string(end) + ", but had " +
                                         std::to_string(content.size()) +
                                         " bytes when it was opened: it was truncated in the meantime (reading tensor 'gone')");
}

TEST_F(SafetensorsFiles, aPartIsRead) {
  std::string bytes;
  for (float value : {1.0f, 2.0f, 3.0f, 4.0f})
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
  write({{"a", {"F32", {}, 0, 0}}, {"b", {"F32", {3}, 0, 0}}}, bytes);
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(*(*file)->read<double>((*file)->tensors().at("b"), 1, 2), (std::vector<double>{3, 4}));
  float value = 0;
  ASSERT_TRUE((*file)->readBytes((*file)->tensors().at("b"), 4, 4, &value).ok());
  EXPECT_EQ(value, 3);
}

TEST_F(SafetensorsFiles, halfPrecisionIsWidened) {
  // 1, -2, 65504, 2^-24, infinity; 1, -3
  write({{"h", {"F16", {5}, 0, 0}}, {"b", {"BF16", {2}, 0, 0}}},
        std::string("\x00\x3c\x00\xc0\xff\x7b\x01\x00\x00\x7c\x80\x3f\x40\xc0", 14));
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::vector<float> half = *(*file)->read<float>((*file)->tensors().at("h"));
  EXPECT_EQ(half[0], 1);
  EXPECT_EQ(half[1], -2);
  EXPECT_EQ(half[2], 65504);
  EXPECT_EQ(half[3], 0x1p-24f);
  EXPECT_TRUE(std::isinf(half[4]));
  EXPECT_EQ(*(*file)->read<double>((*file)->tensors().at("b")), (std::vector<double>{1, -3}));
}

} // namespace
} // namespace npar::testing
