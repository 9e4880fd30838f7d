// Tests token files and sample orders: right batches, and clear errors for files that do not fit.
#include "engine/data/DataSource.h"
#include "engine/data/Permutation.h"
#include "tests/engine/data/StreamShape.h"

#include <algorithm>
#include <set>
#include <sys/stat.h>

namespace npar::testing {
namespace {

using namespace engine;

BatchShape shapeOf(int64_t sequence, int64_t rows, int64_t tokens = 256, int64_t targets = 256, std::optional<int32_t> ignore = {}) {
  auto input = [&](const char *name, ValueRange range, program::InputRole role) {
    return InputShape{name, program::ElementType::I32, {"batch", "seq"}, {rows, sequence}, std::move(range), role};
  };
  BatchShape shape{rows,
                   {input("words", {tokens, "words", "m.npar:2:10"}, program::InputRole::Stream),
                    input("labels", {targets, "labels", ""}, program::InputRole::Shifted)}};
  shape.inputs[1].ignore = ignore;
  return shape;
}

std::vector<int32_t> tokensOf(const Batch &batch) { return std::get<std::vector<int32_t>>(batch[0]); }
std::vector<int32_t> targetsOf(const Batch &batch) { return std::get<std::vector<int32_t>>(batch[1]); }

class DataTest : public DataFolder {
protected:
  std::string errorOf(const std::string &path, TokenFormat format, int64_t classes) {
    return errorOf(path, format, shapeOf(4, 1, classes, classes));
  }
  std::string errorOf(const std::string &path, TokenFormat format, const BatchShape &shape, const std::string &mask = "") {
    auto source = DataSource::openTokens(path, format, Order::Sequential, 0, shape, mask);
    EXPECT_FALSE(source.ok());
    EXPECT_EQ(source.status().code(), Code::BadInput);
    return source.ok() ? "" : source.status().message();
  }
};

TEST_F(DataTest, sequentialSamplesAreShiftedByOneAndGoRound) {
  std::string path = file("text", "abcdefghij"); // (10 - 1) / 3 = 3 samples
  auto source = DataSource::openTokens(path, TokenFormat::Bytes, Order::Sequential, 0, shapeOf(3, 2));
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ((*source)->samples(), 3);
  Batch first = (*source)->batch(0), second = (*source)->batch(1);
  EXPECT_EQ(tokensOf(first), (std::vector<int32_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
  EXPECT_EQ(targetsOf(first), (std::vector<int32_t>{'b', 'c', 'd', 'e', 'f', 'g'}));
  EXPECT_EQ(tokensOf(second), (std::vector<int32_t>{'g', 'h', 'i', 'a', 'b', 'c'}));
  EXPECT_EQ(targetsOf(second), (std::vector<int32_t>{'h', 'i', 'j', 'b', 'c', 'd'}));
}

TEST_F(DataTest, wideTokensAreLittleEndian) {
  std::string u16("\x01\x00\x00\x01\xff\xff", 6), i32("\x02\x00\x00\x00\x03\x00\x01\x00", 8);
  auto narrow = DataSource::openTokens(file("u16", u16), TokenFormat::U16, Order::Sequential, 0, shapeOf(2, 1, 65536, 65536));
  ASSERT_TRUE(narrow.ok()) << narrow.status().message();
  EXPECT_EQ(tokensOf((*narrow)->batch(0)), (std::vector<int32_t>{1, 256}));
  EXPECT_EQ(targetsOf((*narrow)->batch(0)), (std::vector<int32_t>{256, 65535}));
  auto wide = DataSource::openTokens(file("i32", i32), TokenFormat::I32, Order::Sequential, 0, shapeOf(1, 1, 100000, 100000));
  ASSERT_TRUE(wide.ok()) << wide.status().message();
  EXPECT_EQ(targetsOf((*wide)->batch(0)), std::vector<int32_t>{65539});
}

TEST_F(DataTest, shuffledEpochsAreDifferentPermutations) {
  std::string text;
  for (int i = 0; i < 101; ++i)
    text += static_cast<char>(i);
  auto source = DataSource::openTokens(file("text", text), TokenFormat::Bytes, Order::Shuffled, 7, shapeOf(1, 10));
  ASSERT_TRUE(source.ok());
  std::vector<int32_t> epochs[2];
  for (int64_t step = 0; step < 20; ++step)
    for (int32_t token : tokensOf((*source)->batch(step)))
      epochs[step / 10].push_back(token);
  for (auto &epoch : epochs)
    EXPECT_EQ(std::set<int32_t>(epoch.begin(), epoch.end()).size(), 100u);
  EXPECT_NE(epochs[0], epochs[1]);
  auto again = DataSource::openTokens(folder + "/text", TokenFormat::Bytes, Order::Shuffled, 7, shapeOf(1, 20));
  EXPECT_EQ(tokensOf((*again)->batch(0)), std::vector<int32_t>(epochs[0].begin(), epochs[0].begin() + 20))
      << "the order ignores the batch size";
  auto other = DataSource::openTokens(folder + "/text", TokenFormat::Bytes, Order::Shuffled, 8, shapeOf(1, 20));
  EXPECT_NE(tokensOf((*other)->batch(0)), tokensOf((*again)->batch(0)));
}

/// A training of 3 batches of 20 resumes with batches of 8: the same samples follow, for every kind of source.
TEST_F(DataTest, aTrainingGoesOnAtTheNextSampleWithBatchesOfAnotherSize) {
  std::string text;
  for (int i = 0; i < 101; ++i)
    text += static_cast<char>(i);
  std::string path = file("text", text);
  auto open = [&](int64_t rows, Order order) {
    return std::move(*DataSource::openTokens(path, TokenFormat::Bytes, order, 7, shapeOf(1, rows)));
  };
  std::pair<std::unique_ptr<DataSource>, std::unique_ptr<DataSource>> sources[] = {
      {open(20, Order::Shuffled), open(8, Order::Shuffled)},
      {open(20, Order::Sequential), open(8, Order::Sequential)},
      {DataSource::random(5, shapeOf(1, 20)), DataSource::random(5, shapeOf(1, 8))},
  };
  for (auto &[before, after] : sources) {
    std::vector<int32_t> expected, seen;
    for (int64_t step = 3; step < 11; ++step)
      for (int32_t token : tokensOf(before->batch(step)))
        expected.push_back(token);
    after->goOnFrom(3, 60);
    for (int64_t step = 3; step < 23; ++step)
      for (int32_t token : tokensOf(after->batch(step)))
        seen.push_back(token);
    EXPECT_EQ(seen, expected);
  }
}

/// One of several processes reads exactly these rows of the whole batch.
TEST_F(DataTest, aBatchMayHoldSomeOfItsRows) {
  std::string text;
  for (int i = 0; i < 101; ++i)
    text += static_cast<char>(i);
  std::string path = file("text", text);
  auto open = [&] { return std::move(*DataSource::openTokens(path, TokenFormat::Bytes, Order::Shuffled, 7, shapeOf(2, 5))); };
  auto random = [] { return DataSource::random(5, shapeOf(2, 5, 100, 100, -100), 1); };
  std::pair<std::unique_ptr<DataSource>, std::unique_ptr<DataSource>> sources[] = {{open(), open()}, {random(), random()}};
  for (auto &[whole, some] : sources) {
    some->keepRows({1, 4});
    for (int64_t step : {0, 9, 23}) { // over the end of an epoch too
      for (auto of : {tokensOf, targetsOf}) {
        std::vector<int32_t> all = of(whole->batch(step));
        EXPECT_EQ(of(some->batch(step)), (std::vector<int32_t>{all[2], all[3], all[8], all[9]}));
      }
    }
    some->keepRows({});
    EXPECT_TRUE(tokensOf(some->batch(0)).empty());
  }
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
  BatchShape shape = shapeOf(8, 4, 100, 5);
  auto a = DataSource::random(1, shape), b = DataSource::random(1, shape), c = DataSource::random(2, shape);
  EXPECT_EQ(tokensOf(a->batch(3)), tokensOf(b->batch(3)));
  EXPECT_NE(tokensOf(a->batch(3)), tokensOf(a->batch(4)));
  EXPECT_NE(tokensOf(a->batch(3)), tokensOf(c->batch(3)));
  // Each input has its own values.
  Batch batch = a->batch(0);
  std::vector<int32_t> tokens = tokensOf(batch), targets = targetsOf(batch);
  auto [least, largest] = std::minmax_element(tokens.begin(), tokens.end());
  EXPECT_TRUE(*least >= 0 && *largest > 50 && *largest < 100);
  auto [first, last] = std::minmax_element(targets.begin(), targets.end());
  EXPECT_TRUE(*first == 0 && *last == 4);
  EXPECT_EQ(tokensOf(DataSource::random(1, shapeOf(8, 4, 100, 0))->batch(0)), tokensOf(a->batch(0)))
      << "an input without classes takes any";
}

TEST_F(DataTest, aMaskSaysWhichTokensAreTargets) {
  std::string path = file("text", "abcdefg"), mask("\1\0\1\1\0\0\1", 7); // the byte of the token itself, not of the one before
  auto source = DataSource::openTokens(path, TokenFormat::Bytes, Order::Sequential, 0, shapeOf(3, 2, 256, 256, -100), file("mask", mask));
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ(tokensOf((*source)->batch(0)), (std::vector<int32_t>{'a', 'b', 'c', 'd', 'e', 'f'})) << "inputs stay";
  EXPECT_EQ(targetsOf((*source)->batch(0)), (std::vector<int32_t>{-100, 'c', 'd', -100, -100, 'g'}));
}

TEST_F(DataTest, wrongMasksAreNamedWithTheReason) {
  std::string text = file("text", "abcdefg");
  auto errorOfMask = [&](const std::string &path) {
    auto source = DataSource::openTokens(text, TokenFormat::Bytes, Order::Sequential, 0, shapeOf(3, 2, 256, 256, -100), path);
    EXPECT_FALSE(source.ok());
    return source.ok() ? "" : source.status().message();
  };
  EXPECT_EQ(errorOfMask(folder + "/none"), "cannot read mask '" + folder + "/none': No such file or directory");
  EXPECT_EQ(errorOfMask(file("short", std::string(6, '\1'))),
            "cannot read mask '" + folder + "/short': it has 6 bytes, but the data has 7 tokens; it needs one byte per token");
  EXPECT_EQ(errorOfMask(file("digits", "1101101")),
            "cannot read mask '" + folder + "/digits': byte 0 is 49; 0 (not a target) and 1 (a target) are allowed");
}

/// Random masks as the checks of a plan need them: rows, hence ranks, with different numbers of targets, and one group of rows without any.
TEST_F(DataTest, randomMasksAreUneven) {
  auto whole = DataSource::random(1, shapeOf(16, 12, 100, 100));
  auto source = DataSource::random(1, shapeOf(16, 12, 100, 100, -100), 3);
  for (int64_t step = 0; step < 5; ++step) {
    Batch batch = source->batch(step), all = whole->batch(step);
    EXPECT_EQ(tokensOf(batch), tokensOf(all));
    std::set<int64_t> counts;
    for (int64_t row = 0; row < 12; ++row) {
      int64_t valid = 0;
      for (int64_t i = row * 16; i < row * 16 + 16; ++i)
        if (targetsOf(batch)[static_cast<size_t>(i)] != -100) {
          ++valid;
          EXPECT_EQ(targetsOf(batch)[static_cast<size_t>(i)], targetsOf(all)[static_cast<size_t>(i)]);
        }
      if (row / 3 == step % 4) {
        EXPECT_EQ(valid, 0) << "row " << row << " of step " << step;
      }
      counts.insert(valid);
    }
    EXPECT_GE(counts.size(), 4u);
  }
  auto only = DataSource::random(1, shapeOf(16, 4, 100, 100, -100), 4); // a single group keeps some
  std::vector<int32_t> targets = targetsOf(only->batch(0));
  EXPECT_LT(std::count(targets.begin(), targets.end(), -100), 64);
  EXPECT_GT(std::count(targets.begin(), targets.end(), -100), 0);
}

TEST_F(DataTest, wrongFilesAreNamedWithTheReason) {
  std::string missing = folder + "/none";
  EXPECT_EQ(errorOf(missing, TokenFormat::Bytes, 256), "cannot read data '" + missing + "': No such file or directory");
  EXPECT_EQ(errorOf(folder, TokenFormat::Bytes, 256), "cannot read data '" + folder + "': it is a directory");
  EXPECT_EQ(errorOf("/dev/null", TokenFormat::Bytes, 256), "cannot read data '/dev/null': it is not a regular file");
  std::string small = file("short", "abcd");
  EXPECT_EQ(errorOf(small, TokenFormat::Bytes, 256), "data '" + small + "' has 4 tokens; one sample of sequence length 4 needs 5");
  EXPECT_EQ(errorOf(file("empty", ""), TokenFormat::Bytes, 256),
            "data '" + folder + "/empty' has 0 tokens; one sample of sequence length 4 needs 5");
  EXPECT_EQ(errorOf(file("odd", "abc"), TokenFormat::U16, 70000),
            "cannot read data '" + folder + "/odd': its 3 bytes are not a whole number of 2-byte tokens");
  EXPECT_EQ(errorOf(file("big", "ab\xff"
                                "d"),
                    TokenFormat::Bytes, 128),
            "sample 0 of '" + folder +
                "/big' has token 255 at position 2, but axis 'words' (m.npar:2:10) has 128 classes, 0 to 127; to accept every byte it "
                "needs 256");
  EXPECT_EQ(errorOf(file("negative", "\xff\xff\xff\xff"), TokenFormat::I32, 128),
            "sample 0 of '" + folder + "/negative' has token -1 at position 0, but axis 'words' (m.npar:2:10) has 128 classes, 0 to 127");
  if (::geteuid() != 0) {
    std::string locked = file("locked", "abcdef");
    ::chmod(locked.c_str(), 0);
    EXPECT_EQ(errorOf(locked, TokenFormat::Bytes, 256), "cannot read data '" + locked + "': Permission denied");
  }
  EXPECT_EQ(tokenFormat("utf8").status().message(), "unknown token format 'utf8': use bytes, u16 or i32");
  EXPECT_EQ(sampleOrder("random").status().message(), "unknown order 'random': use shuffled or sequential");
}

/// What is a legal token need not be a legal target. Targets that do not count may be anything.
TEST_F(DataTest, tokensAndTargetsHaveTheirOwnClasses) {
  std::string path = file("u16", std::string("\1\0\2\0\3\0\2\0\1\0\7\0\1\0", 14)); // 1 2 3 2 1 7 1
  std::string expected = "sample 2 of '" + path + "' has target 7 at position 0, but axis 'labels' has 4 classes, 0 to 3";
  EXPECT_EQ(errorOf(path, TokenFormat::U16, shapeOf(2, 1, 8, 4)), expected);
  EXPECT_EQ(errorOf(path, TokenFormat::U16, shapeOf(2, 1, 7, 4)),
            "sample 2 of '" + path + "' has token 7 at position 1, but axis 'words' (m.npar:2:10) has 7 classes, 0 to 6");
  EXPECT_EQ(errorOf(path, TokenFormat::U16, shapeOf(2, 1, 8, 1)),
            "sample 0 of '" + path + "' has target 2 at position 0, but axis 'labels' has 1 class, 0");
  auto opens = [&](const BatchShape &shape, const std::string &mask = "") {
    return DataSource::openTokens(path, TokenFormat::U16, Order::Sequential, 0, shape, mask).ok();
  };
  EXPECT_TRUE(opens(shapeOf(2, 1, 8, 8)));
  EXPECT_TRUE(opens(shapeOf(2, 1, 8, 0))) << "no operation bounds the targets";
  EXPECT_TRUE(opens(shapeOf(2, 1, 8, 4, 7))) << "7 is ignored";
  std::string mask = file("mask", std::string("\1\1\1\1\1\0\1", 7));
  EXPECT_TRUE(opens(shapeOf(2, 1, 8, 4, -100), mask)) << "the mask leaves 7 out";
  EXPECT_EQ(errorOf(path, TokenFormat::U16, shapeOf(2, 1, 8, 4, -100), file("all", std::string(7, '\1'))), expected);
}

/// The model would leave real tokens out of the loss.
TEST_F(DataTest, aMaskNeedsAnIgnoredValueThatIsNoToken) {
  std::string path = file("text", "abcdcba"), mask = file("mask", std::string("\1\1\1\0\1\1\1", 7));
  EXPECT_EQ(errorOf(path, TokenFormat::Bytes, shapeOf(3, 2, 256, 256, 'b'), mask),
            "sample 0 of '" + path + "' has target 98 at position 0, which the mask '" + mask +
                "' counts, but the model ignores 98: ignore a number that is not a class, such as ignore = -100");
  EXPECT_TRUE(DataSource::openTokens(path, TokenFormat::Bytes, Order::Sequential, 0, shapeOf(3, 2, 256, 256, 'd'), mask).ok())
      << "the only d is masked";
}

/// The ignored value marks padding if there is no mask; its frequency is a remark.
TEST_F(DataTest, ignoredTargetsAreCounted) {
  std::string path = file("text", "abcbcba");
  auto source = DataSource::openTokens(path, TokenFormat::Bytes, Order::Sequential, 0, shapeOf(3, 2, 256, 256, 'b'));
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ((*source)->remarks(), std::vector<std::string>{"the model ignores targets of value 98: 3 of 6 in '" + path + "'"});
  auto other = DataSource::openTokens(path, TokenFormat::Bytes, Order::Sequential, 0, shapeOf(3, 2, 256, 256, -100));
  EXPECT_TRUE((*other)->remarks().empty());
}

TEST_F(DataTest, dataThatWouldTrainOnNothingOrOnOneSampleAgainAndAgain) {
  std::string path = file("text", "aaaaaaa"), mask = file("mask", std::string("\1\0\0\0\0\0\0", 7));
  EXPECT_EQ(errorOf(path, TokenFormat::Bytes, shapeOf(3, 2, 256, 256, -100), mask),
            "mask '" + mask + "' marks no token of '" + path + "' as a target: there is nothing to train on");
  EXPECT_EQ(errorOf(path, TokenFormat::Bytes, shapeOf(3, 2, 256, 256, 'a')),
            "all targets of '" + path + "' is 97, which the model ignores: there is nothing to train on");
  EXPECT_EQ(errorOf(path, TokenFormat::Bytes, shapeOf(3, 3)),
            "data '" + path +
                "' has 2 samples of 3 tokens, but a batch needs 3 and would repeat some; make the batch smaller or the samples "
                "shorter, or give a longer file");
}

/// Inputs that no stream of tokens feeds: each with values of its own, in its own type.
TEST_F(DataTest, randomValuesAreOfTheInputsTypes) {
  BatchShape shape = shapeOf(8, 4, 100, 5);
  shape.inputs.push_back({"segments", program::ElementType::U8, {"batch", "seq"}, {4, 8}, {3, "kinds", ""}});
  shape.inputs.push_back({"any", program::ElementType::U8, {"batch"}, {4}, {}});
  shape.inputs.push_back({"x", program::ElementType::F32, {"batch", "seq", "feature"}, {4, 8, 50}, {}});
  auto source = DataSource::random(1, shape);
  Batch batch = source->batch(2), next = source->batch(3);
  EXPECT_EQ(tokensOf(batch), tokensOf(DataSource::random(1, shapeOf(8, 4, 100, 5))->batch(2))) << "others change nothing";
  auto segments = std::get<std::vector<uint8_t>>(batch[2]);
  auto [least, largest] = std::minmax_element(segments.begin(), segments.end());
  EXPECT_TRUE(segments.size() == 32 && *least == 0 && *largest == 2);
  EXPECT_NE(segments, std::get<std::vector<uint8_t>>(next[2]));
  EXPECT_EQ(std::get<std::vector<uint8_t>>(batch[3]).size(), 4u);
  auto x = std::get<std::vector<float>>(batch[4]);
  double sum = 0, squares = 0;
  for (float value : x)
    sum += value, squares += value * value;
  EXPECT_EQ(x.size(), 1600u);
  EXPECT_NEAR(sum / 1600, 0, 0.1);
  EXPECT_NEAR(squares / 1600, 1, 0.15);
  EXPECT_TRUE(checkBatch(shape, batch).ok());
}

} // namespace
} // namespace npar::testing
