// Token files and sample orders: right batches, and clear errors for files that do not fit.
#include "engine/data/DataSource.h"
#include "engine/data/Permutation.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;

class DataTest : public ::testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/npar-data-XXXXXX";
    ASSERT_TRUE(::mkdtemp(name));
    folder = name;
  }
  void TearDown() override {
    if (std::system(("rm -rf " + folder).c_str()) != 0)
      ADD_FAILURE();
  }
  std::string file(const std::string &name, const std::string &bytes) {
    std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string errorOf(const std::string &path, TokenFormat format, int64_t vocab, int64_t sequence = 4) {
    auto source = DataSource::open(path, format, Order::Sequential, sequence, 1, 0, vocab);
    EXPECT_FALSE(source.ok());
    EXPECT_EQ(source.status().code(), Code::BadInput);
    return source.ok() ? "" : source.status().message();
  }
  std::string folder;
};

TEST_F(DataTest, sequentialSamplesAreShiftedByOneAndGoRound) {
  std::string path = file("text", "abcdefghij"); // (10 - 1) / 3 = 3 samples
  auto source = DataSource::open(path, TokenFormat::Bytes, Order::Sequential, 3, 2, 0, 256);
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ((*source)->samples(), 3);
  Batch first = (*source)->batch(0), second = (*source)->batch(1);
  EXPECT_EQ(first.tokens, (std::vector<int32_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
  EXPECT_EQ(first.targets, (std::vector<int32_t>{'b', 'c', 'd', 'e', 'f', 'g'}));
  EXPECT_EQ(second.tokens, (std::vector<int32_t>{'g', 'h', 'i', 'a', 'b', 'c'}));
  EXPECT_EQ(second.targets, (std::vector<int32_t>{'h', 'i', 'j', 'b', 'c', 'd'}));
}

TEST_F(DataTest, wideTokensAreLittleEndian) {
  std::string u16("\x01\x00\x00\x01\xff\xff", 6), i32("\x02\x00\x00\x00\x03\x00\x01\x00", 8);
  auto narrow = DataSource::open(file("u16", u16), TokenFormat::U16, Order::Sequential, 2, 1, 0, 65536);
  ASSERT_TRUE(narrow.ok()) << narrow.status().message();
  EXPECT_EQ((*narrow)->batch(0).tokens, (std::vector<int32_t>{1, 256}));
  EXPECT_EQ((*narrow)->batch(0).targets, (std::vector<int32_t>{256, 65535}));
  auto wide = DataSource::open(file("i32", i32), TokenFormat::I32, Order::Sequential, 1, 1, 0, 100000);
  ASSERT_TRUE(wide.ok()) << wide.status().message();
  EXPECT_EQ((*wide)->batch(0).targets, std::vector<int32_t>{65539});
}

TEST_F(DataTest, shuffledEpochsAreDifferentPermutations) {
  std::string text;
  for (int i = 0; i < 101; ++i)
    text += static_cast<char>(i);
  auto source = DataSource::open(file("text", text), TokenFormat::Bytes, Order::Shuffled, 1, 10, 7, 256);
  ASSERT_TRUE(source.ok());
  std::vector<int32_t> epochs[2];
  for (int64_t step = 0; step < 20; ++step)
    for (int32_t token : (*source)->batch(step).tokens)
      epochs[step / 10].push_back(token);
  for (auto &epoch : epochs)
    EXPECT_EQ(std::set<int32_t>(epoch.begin(), epoch.end()).size(), 100u);
  EXPECT_NE(epochs[0], epochs[1]);
  auto again = DataSource::open(folder + "/text", TokenFormat::Bytes, Order::Shuffled, 1, 20, 7, 256);
  EXPECT_EQ((*again)->batch(0).tokens, std::vector<int32_t>(epochs[0].begin(), epochs[0].begin() + 20))
      << "the order ignores the batch size";
  auto other = DataSource::open(folder + "/text", TokenFormat::Bytes, Order::Shuffled, 1, 20, 8, 256);
  EXPECT_NE((*other)->batch(0).tokens, (*again)->batch(0).tokens);
}

TEST_F(DataTest, everySizeIsPermuted) {
  for (int64_t n : {1, 2, 3, 4, 5, 16, 17, 1000, 4097}) {
    Permutation permutation(n, 5, 9);
    std::set<int64_t> seen;
    for (int64_t i = 0; i < n; ++i) {
      int64_t value = permutation(i);
      ASSERT_TRUE(value >= 0 && value < n);
      seen.insert(value);
    }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), n);
  }
}

TEST_F(DataTest, randomBatchesDependOnSeedAndStepOnly) {
  auto a = DataSource::random(8, 4, 1, 100), b = DataSource::random(8, 4, 1, 100), c = DataSource::random(8, 4, 2, 100);
  EXPECT_EQ(a->batch(3).tokens, b->batch(3).tokens);
  EXPECT_NE(a->batch(3).tokens, a->batch(4).tokens);
  EXPECT_NE(a->batch(3).tokens, c->batch(3).tokens);
  for (int32_t token : a->batch(0).targets)
    EXPECT_TRUE(token >= 0 && token < 100);
}

TEST_F(DataTest, aMaskSaysWhichTokensAreTargets) {
  std::string path = file("text", "abcdefg"), mask("\1\0\1\1\0\0\1", 7); // the byte of the token itself, not of the one before
  TargetMask targets{file("mask", mask), -100};
  auto source = DataSource::open(path, TokenFormat::Bytes, Order::Sequential, 3, 2, 0, 256, targets);
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ((*source)->batch(0).tokens, (std::vector<int32_t>{'a', 'b', 'c', 'd', 'e', 'f'})) << "inputs stay";
  EXPECT_EQ((*source)->batch(0).targets, (std::vector<int32_t>{-100, 'c', 'd', -100, -100, 'g'}));
}

TEST_F(DataTest, wrongMasksAreNamedWithTheReason) {
  std::string text = file("text", "abcdefg");
  auto errorOfMask = [&](const std::string &path) {
    auto source = DataSource::open(text, TokenFormat::Bytes, Order::Sequential, 3, 2, 0, 256, TargetMask{path, -100});
    EXPECT_FALSE(source.ok());
    return source.ok() ? "" : source.status().message();
  };
  EXPECT_EQ(errorOfMask(folder + "/none"), "cannot read mask '" + folder + "/none': No such file or directory");
  EXPECT_EQ(errorOfMask(file("short", std::string(6, '\1'))),
            "cannot read mask '" + folder + "/short': it has 6 bytes, but the data has 7 tokens; it needs one byte per token");
  EXPECT_EQ(errorOfMask(file("digits", "1101101")),
            "cannot read mask '" + folder + "/digits': byte 0 is 49; 0 (not a target) and 1 (a target) are allowed");
}

/// What the checks of a plan need: rows, hence ranks, with different numbers of targets, and one group of rows without any.
TEST_F(DataTest, randomMasksAreUneven) {
  auto whole = DataSource::random(16, 12, 1, 100);
  auto source = DataSource::random(16, 12, 1, 100, RandomMask{-100, 3});
  for (int64_t step = 0; step < 5; ++step) {
    Batch batch = source->batch(step), all = whole->batch(step);
    EXPECT_EQ(batch.tokens, all.tokens);
    std::set<int64_t> counts;
    for (int64_t row = 0; row < 12; ++row) {
      int64_t valid = 0;
      for (int64_t i = row * 16; i < row * 16 + 16; ++i)
        if (batch.targets[static_cast<size_t>(i)] != -100) {
          ++valid;
          EXPECT_EQ(batch.targets[static_cast<size_t>(i)], all.targets[static_cast<size_t>(i)]);
        }
      if (row / 3 == step % 4) {
        EXPECT_EQ(valid, 0) << "row " << row << " of step " << step;
      }
      counts.insert(valid);
    }
    EXPECT_GE(counts.size(), 4u);
  }
  auto only = DataSource::random(16, 4, 1, 100, RandomMask{-100, 4}); // a single group keeps some
  std::vector<int32_t> targets = only->batch(0).targets;
  EXPECT_LT(std::count(targets.begin(), targets.end(), -100), 64);
  EXPECT_GT(std::count(targets.begin(), targets.end(), -100), 0);
}

TEST_F(DataTest, wrongFilesAreNamedWithTheReason) {
  std::string missing = folder + "/none";
  EXPECT_EQ(errorOf(missing, TokenFormat::Bytes, 256), "cannot read data '" + missing + "': No such file or directory");
  EXPECT_EQ(errorOf(folder, TokenFormat::Bytes, 256), "cannot read data '" + folder + "': it is a directory");
  EXPECT_EQ(errorOf("/dev/null", TokenFormat::Bytes, 256), "cannot read data '/dev/null': it is no regular file");
  std::string small = file("short", "abcd");
  EXPECT_EQ(errorOf(small, TokenFormat::Bytes, 256), "data '" + small + "' has 4 tokens; one sample of sequence length 4 needs 5");
  EXPECT_EQ(errorOf(file("empty", ""), TokenFormat::Bytes, 256),
            "data '" + folder + "/empty' has 0 tokens; one sample of sequence length 4 needs 5");
  EXPECT_EQ(errorOf(file("odd", "abc"), TokenFormat::U16, 70000),
            "cannot read data '" + folder + "/odd': its 3 bytes are no whole number of 2-byte tokens");
  EXPECT_EQ(errorOf(file("big", "ab\xff"
                                "d"),
                    TokenFormat::Bytes, 128),
            "cannot read data '" + folder + "/big': token 2 is 255, but the vocabulary has 128 entries (0 to 127)");
  EXPECT_EQ(errorOf(file("negative", "\xff\xff\xff\xff"), TokenFormat::I32, 128),
            "cannot read data '" + folder + "/negative': token 0 is -1, but the vocabulary has 128 entries (0 to 127)");
  if (::geteuid() != 0) {
    std::string locked = file("locked", "abcdef");
    ::chmod(locked.c_str(), 0);
    EXPECT_EQ(errorOf(locked, TokenFormat::Bytes, 256), "cannot read data '" + locked + "': Permission denied");
  }
  EXPECT_EQ(tokenFormat("utf8").status().message(), "unknown token format 'utf8': bytes, u16 and i32 exist");
  EXPECT_EQ(sampleOrder("random").status().message(), "unknown order 'random': shuffled and sequential exist");
}

} // namespace
} // namespace npar::testing
