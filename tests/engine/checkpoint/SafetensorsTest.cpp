// Safetensors headers from hostile hands: each wrong one is refused with its reason, none crashes.
#include "engine/checkpoint/Safetensors.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;

std::string errorOf(const std::string &header, uint64_t dataBytes = 64) {
  auto result = parseSafetensorsHeader(header.data(), header.size(), dataBytes);
  EXPECT_FALSE(result.ok()) << header.substr(0, 200);
  return result.ok() ? "" : result.status().message();
}

std::string tensor(const std::string &shape, const std::string &offsets, const std::string &type = "F32") {
  return "{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

TEST(SafetensorsTest, goodHeaders) {
  const std::pair<std::string, uint64_t> cases[] = {{"{}", 0},
                                                    {"{\"a\":" + tensor("[2,3]", "[0,24]") + "}   ", 24},
                                                    {"{\"__metadata__\":{\"k\":\"v\"},\"a\":" + tensor("[]", "[0,4]") + "}", 4},
                                                    {"{\"a\":" + tensor("[0,5]", "[0,0]") + "}", 0},
                                                    {"{\"a\":" + tensor("[4]", "[0,4]", "BOOL") + "}", 4}};
  for (const auto &[header, bytes] : cases)
    EXPECT_TRUE(parseSafetensorsHeader(header.data(), header.size(), bytes).ok()) << header;
}

TEST(SafetensorsTest, hostileHeaders) {
  struct Case {
    std::string header, reason;
  };
  const Case cases[] = {
      {"", "no valid JSON"},
      {"null", "it begins with null"},
      {"[]", "it begins with a list"},
      {"7", "it begins with the number 7"},
      {"{\"a\":", "no valid JSON"},
      {"{\"a\":5}", "the number 5 is not expected in the entry 'a'"},
      {"{\"a\":{}}", "tensor 'a' lacks one of dtype, shape and two data_offsets"},
      {"{\"a\":" + tensor("[2,3]", "[0]") + "}", "lacks one of"},
      {"{\"a\":" + tensor("[2,3]", "[0,12,24]") + "}", "too long a list 'data_offsets'"},
      {"{\"a\":" + tensor("[2,3]", "[0,20]") + "}", "tensor 'a' has 20 bytes, its shape [2, 3] of F32 needs 24"},
      {"{\"a\":" + tensor("[2,3]", "[48,72]") + "}", "tensor 'a' lies at bytes 48 to 72 of 64"},
      {"{\"a\":" + tensor("[2,3]", "[24,0]") + "}", "tensor 'a' lies at bytes 24 to 0 of 64"},
      {"{\"a\":" + tensor("[2,-3]", "[0,24]") + "}", "a negative number is not expected"},
      {"{\"a\":" + tensor("[2.5]", "[0,24]") + "}", "a fraction is not expected"},
      {"{\"a\":" + tensor("[1e999]", "[0,24]") + "}", ""},
      {"{\"a\":" + tensor("[4294967296,4294967296,4]", "[0,0]") + "}", "impossible shape"},
      {"{\"a\":" + tensor("[18446744073709551615]", "[0,0]") + "}", "is not expected in the entry"},
      {"{\"a\":" + tensor("[1]", "[0,4]", "Q4") + "}", "unknown type 'Q4'"},
      {"{\"a\":" + tensor("[1]", "[0,4]") + ",\"a\":" + tensor("[1]", "[4,8]") + "}", "'a' appears twice"},
      {"{\"a\":" + tensor("[4]", "[0,16]") + ",\"b\":" + tensor("[4]", "[12,28]") + "}", "tensors 'a' and 'b' overlap"},
      {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", "has field 'dtype' twice"},
      {"{\"a\":{\"dtype\":\"F32\",\"evil\":1}}", "unknown field 'evil'"},
      {"{\"a\":{\"dtype\":{\"x\":1}}}", "an object is not expected"},
      {"{\"a\":{\"shape\":[[1]]}}", "a list is not expected"},
      {"{\"__metadata__\":{\"a\":1}}", "the number 1 is not expected"},
      {"{\"\xff\":1}", "no valid JSON"},
      {std::string(100000, '['), "it begins with a list"},
      {"{\"a\":" + std::string(100000, '{'), ""},
  };
  for (const Case &test : cases)
    EXPECT_NE(errorOf(test.header).find(test.reason), std::string::npos) << test.header.substr(0, 100) << " gave: " << errorOf(test.header);
}

TEST(SafetensorsTest, everyTruncationOfAFileIsRefused) {
  std::vector<std::pair<std::string, StoredTensor>> tensors(1);
  tensors[0].first = "w", tensors[0].second.type = "F32", tensors[0].second.shape = {2};
  std::string good = safetensorsHeader(tensors) + std::string(8, '\x01');
  std::string path = "/tmp/npar-safetensors-" + std::to_string(::getpid());
  for (size_t length = 0; length <= good.size(); ++length) {
    std::ofstream(path, std::ios::binary) << good.substr(0, length);
    EXPECT_EQ(SafetensorsFile::open(path).ok(), length == good.size()) << length;
  }
  for (unsigned char byte : {0xFF, 0x00, 0x7F}) { // an absurd header length
    std::string bad = good;
    for (size_t i = 0; i < 8; ++i)
      bad[i] = static_cast<char>(byte);
    std::ofstream(path, std::ios::binary) << bad;
    EXPECT_FALSE(SafetensorsFile::open(path).ok());
  }
  ::unlink(path.c_str());
  EXPECT_FALSE(SafetensorsFile::open(path).ok());
  EXPECT_FALSE(SafetensorsFile::open("/tmp").ok());
}

TEST(SafetensorsTest, bytesOfNoTensorAreRefused) {
  const std::string one = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[2],"data_offsets":[6,8]}})";
  auto wrong = [&](const std::string &text, uint64_t bytes) {
    return parseSafetensorsHeader(text.data(), text.size(), bytes).status().message();
  };
  EXPECT_EQ(wrong(one, 8), "its header is wrong: bytes 4 to 6 of 8 belong to no tensor");
  EXPECT_EQ(wrong(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 7),
            "its header is wrong: bytes 4 to 7 of 7 belong to no tensor");
  EXPECT_EQ(wrong("{}", 1), "its header is wrong: bytes 0 to 1 of 1 belong to no tensor");
}

TEST(SafetensorsTest, halfPrecisionIsWidened) {
  std::vector<std::pair<std::string, StoredTensor>> tensors(2);
  tensors[0].first = "h", tensors[0].second.type = "F16", tensors[0].second.shape = {5};
  tensors[1].first = "b", tensors[1].second.type = "BF16", tensors[1].second.shape = {2};
  std::string path = "/tmp/npar-safetensors-" + std::to_string(::getpid());
  // 1, -2, 65504, 2^-24, infinity; 1, -3
  std::ofstream(path, std::ios::binary) << safetensorsHeader(tensors)
                                        << std::string("\x00\x3c\x00\xc0\xff\x7b\x01\x00\x00\x7c\x80\x3f\x40\xc0", 14);
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::vector<float> half = (*file)->read<float>((*file)->tensors().at("h"));
  EXPECT_EQ(half[0], 1);
  EXPECT_EQ(half[1], -2);
  EXPECT_EQ(half[2], 65504);
  EXPECT_EQ(half[3], 0x1p-24f);
  EXPECT_TRUE(std::isinf(half[4]));
  EXPECT_EQ((*file)->read<double>((*file)->tensors().at("b")), (std::vector<double>{1, -3}));
  ::unlink(path.c_str());
}

} // namespace
} // namespace npar::testing
