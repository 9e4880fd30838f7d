// A file of torch.save is in place when all of its tensors are whole, and not before.
#include "engine/pytorch/StateDictWriter.h"

#include "engine/pytorch/StateDictPickle.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;

class StateDictWriterTest : public ::testing::Test {
protected:
  void SetUp() override { std::filesystem::remove(path); }
  void TearDown() override { std::filesystem::remove(path); }
  const std::string path = ::testing::TempDir() + "/state-" + std::to_string(::getpid()) + ".pt";
  const std::vector<TensorToWrite> tensors = {{"a", "F32", {2}}, {"empty", "F32", {0, 3}}, {"b", "I64", {1}}};
  const float a[2] = {1, 2};
  const int64_t b = 3;
};

TEST_F(StateDictWriterTest, whole) {
  Result<std::unique_ptr<StateDictWriter>> writer = StateDictWriter::create(path, tensors);
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE((*writer)->isInOrder());
  EXPECT_TRUE((*writer)->write(0, 0, a, 4).ok());
  EXPECT_TRUE((*writer)->write(0, 4, a + 1, 4).ok());
  EXPECT_TRUE((*writer)->write(2, 0, &b, 8).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE((*writer)->commit().ok());
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(StateDictWriterTest, bytesThatAreMissing) {
  Result<std::unique_ptr<StateDictWriter>> writer = StateDictWriter::create(path, tensors);
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE((*writer)->write(0, 0, a, 4).ok());
  EXPECT_NE((*writer)->write(2, 0, &b, 8).message().find("'archive/data/0' got 4 of its 8 bytes"), std::string::npos);
  EXPECT_FALSE((*writer)->commit().ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(StateDictWriterTest, bytesOutOfOrder) {
  for (const auto &[tensor, offset, size] : {std::tuple(0, 4, 4), std::tuple(0, 0, 12)}) {
    Result<std::unique_ptr<StateDictWriter>> writer = StateDictWriter::create(path, tensors);
    ASSERT_TRUE(writer.ok());
    const float many[3] = {1, 2, 3};
    EXPECT_FALSE((*writer)->write(static_cast<size_t>(tensor), static_cast<uint64_t>(offset), many, static_cast<size_t>(size)).ok());
  }
  Result<std::unique_ptr<StateDictWriter>> writer = StateDictWriter::create(path, tensors);
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE((*writer)->write(0, 0, a, 8).ok());
  EXPECT_TRUE((*writer)->write(2, 0, &b, 8).ok());
  EXPECT_NE((*writer)->write(0, 0, a, 8).message().find("out of order"), std::string::npos);
}

TEST_F(StateDictWriterTest, wrongTensors) {
  EXPECT_EQ(StateDictWriter::create(path, {{"x", "F8_E5M2", {2}}}).status().message(),
            "tensor 'x' has type F8_E5M2, for which PyTorch has no storage");
  EXPECT_NE(StateDictWriter::create(path, {{"x", "F32", {2}}, {"x", "F32", {2}}}).status().message().find("two tensors are called 'x'"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
}

// Sizes beyond 31 bits need an opcode of their own; nothing is written for this.
TEST_F(StateDictWriterTest, largeSizes) {
  Result<std::string> pickle = stateDictPickle({{"x", "F16", {3'000'000'000}}});
  ASSERT_TRUE(pickle.ok());
  const std::string number("\x8a\x09\x00\x5e\xd0\xb2\x00\x00\x00\x00\x00", 11);
  EXPECT_NE(pickle->find(number), std::string::npos);
}

} // namespace
} // namespace npar::testing
