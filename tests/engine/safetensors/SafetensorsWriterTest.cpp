// The streaming writer: pieces in any order make the file, and what is missing or wrong leaves the old one as it was.
#include "engine/safetensors/SafetensorsWriter.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;
namespace fs = std::filesystem;

class SafetensorsWriterTest : public ::testing::Test {
protected:
  void SetUp() override { fs::create_directory(folder); }
  void TearDown() override { fs::remove_all(folder); }
  std::unique_ptr<SafetensorsWriter> create(const std::vector<TensorToWrite> &tensors) {
    auto writer = SafetensorsWriter::create(path, tensors);
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    return writer.ok() ? std::move(*writer) : nullptr;
  }
  std::string refusal(const std::vector<TensorToWrite> &tensors) {
    auto writer = SafetensorsWriter::create(path, tensors);
    EXPECT_FALSE(writer.ok());
    return writer.status().message();
  }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator())); }
  fs::path folder = fs::temp_directory_path() / ("npar-writer-" + std::to_string(::getpid()));
  std::string path = (folder / "w.safetensors").string();
};

TEST_F(SafetensorsWriterTest, piecesInAnyOrder) {
  std::vector<float> a(1000);
  std::iota(a.begin(), a.end(), 0.0f);
  const double b[] = {1, 2};
  auto writer = create({{"a", "F32", {10, 100}}, {"empty", "F32", {0, 3}}, {"b", "F64", {2}}});
  ASSERT_TRUE(writer);
  EXPECT_EQ(writer->bytesOf(0), 4000u);
  EXPECT_TRUE(writer->write(2, 8, b + 1, 8).ok());
  std::thread other([&] { EXPECT_TRUE(writer->write(0, 2000, a.data() + 500, 2000).ok()); });
  EXPECT_TRUE(writer->write(0, 0, a.data(), 2000).ok());
  other.join();
  EXPECT_TRUE(writer->write(2, 0, b, 8).ok());
  EXPECT_FALSE(fs::exists(path)) << "nothing is there before the commit";
  ASSERT_TRUE(writer->commit().ok());
  EXPECT_EQ(fs::file_size(path), writer->bytes());
  EXPECT_EQ(files(), 1u);
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(*(*file)->read<float>((*file)->tensors().at("a")), a);
  EXPECT_EQ(*(*file)->read<double>((*file)->tensors().at("b")), (std::vector<double>{1, 2}));
  EXPECT_EQ((*file)->tensors().at("empty").shape, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ((*file)->metadata().at("format"), "pt");
}

TEST_F(SafetensorsWriterTest, whatIsMissingIsRefusedAndTheOldFileStays) {
  std::ofstream(path) << "old";
  const float values[2] = {1, 2};
  auto writer = create({{"a", "F32", {2}}, {"b", "F32", {2}}});
  ASSERT_TRUE(writer);
  EXPECT_TRUE(writer->write(0, 0, values, 8).ok());
  EXPECT_TRUE(writer->write(1, 4, values, 4).ok());
  EXPECT_EQ(writer->commit().message(), "cannot write '" + path + "': tensor 'b' got 4 of its 8 bytes");
  EXPECT_EQ(writer->write(1, 4, values, 8).message(), "cannot write bytes 4 to 12 of tensor 'b', which has 8");
  EXPECT_FALSE(writer->write(0, ~uint64_t{0}, values, 8).ok());
  writer.reset();
  EXPECT_EQ(fs::file_size(path), 3u);
  EXPECT_EQ(files(), 1u);
}

TEST_F(SafetensorsWriterTest, whatItsReaderRefusesIsNotWritten) {
  const std::string begin = "cannot write '" + path + "': ";
  EXPECT_NE(refusal({{"a", "F32", {2}}, {"a", "F32", {2}}}).find("'a' appears twice"), std::string::npos);
  EXPECT_NE(refusal({{"a", "Q4", {2}}}).find("tensor 'a' has an unknown type 'Q4'"), std::string::npos);
  EXPECT_NE(refusal({{"a", "F32", {int64_t{1} << 40, int64_t{1} << 40}}}).find("tensor 'a' has an impossible shape"), std::string::npos);
  EXPECT_NE(refusal({{"a", "F32", {-1}}}).find("a negative number"), std::string::npos);
  EXPECT_NE(refusal({{"a", "F4", {3}}}).find("no whole number of bytes"), std::string::npos);
  EXPECT_EQ(refusal({{"\xff", "F32", {2}}}), begin + "the name '\xff' is no UTF-8, or one that the format keeps for itself");
  EXPECT_FALSE(SafetensorsWriter::create(path, {{"__metadata__", "F32", {2}}}).ok());
  EXPECT_EQ(files(), 0u);
}

TEST_F(SafetensorsWriterTest, aPipeTakesTheTensorsInTheirOrder) {
  path = "/dev/full";
  auto writer = SafetensorsWriter::create(path, {{"a", "F32", {2}}});
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.status().message(), "cannot write '/dev/full': No space left on device");
  path = "/dev/null";
  auto good = create({{"a", "F32", {2}}, {"b", "F32", {1}}});
  ASSERT_TRUE(good);
  const float values[2] = {1, 2};
  EXPECT_EQ(good->write(1, 0, values, 4).code(), Code::Internal) << "b before a";
  EXPECT_TRUE(good->write(0, 0, values, 8).ok());
}

// The limit on the size of files stands for a full disk.
TEST_F(SafetensorsWriterTest, aFullDiskIsAnError) {
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto writer = create({{"a", "F32", {1 << 16}}});
  ASSERT_TRUE(writer);
  std::vector<float> values(1 << 16);
  rlimit small = before;
  small.rlim_cur = 1 << 16;
  ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Status status = writer->write(0, 0, values.data(), values.size() * 4);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(status.message(), "cannot write '" + path + "': File too large");
  writer.reset();
  EXPECT_EQ(files(), 0u);
}

} // namespace
} // namespace npar::testing
