// A file that grows under another name until it is complete, and names that outputs may have.
#include "engine/files/PendingFile.h"
#include "engine/files/Ending.h"
#include "engine/files/OutputName.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <unistd.h>

namespace npar::program {
namespace {

using engine::Result;
using engine::Status;
namespace fs = std::filesystem;

std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct PendingFileTest : ::testing::Test {
  void SetUp() override {
    folder = ::testing::TempDir() + "npar-pending-" + std::to_string(::getpid());
    fs::remove_all(folder);
    fs::create_directory(folder);
    path = folder + "/log.csv";
  }
  void TearDown() override { fs::remove_all(folder); }
  void write(files::PendingFile &file, const std::string &text) {
    Result<int> descriptor = file.begin();
    ASSERT_TRUE(descriptor.ok()) << descriptor.status().message();
    ASSERT_EQ(::write(*descriptor, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string folder, path;
  engine::Observer silent;
};

TEST_F(PendingFileTest, TakesItsNameWhenItIsComplete) {
  std::ofstream(path) << "old";
  files::PendingFile file(path);
  ASSERT_TRUE(file.claim(silent).ok());
  write(file, "new");
  EXPECT_EQ(contentOf(path), "old");
  EXPECT_EQ(contentOf(file.growing()), "new");
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(contentOf(path), "new");
  EXPECT_FALSE(fs::exists(file.growing()));
}

TEST_F(PendingFileTest, AnUnusedFileLeavesNothing) {
  {
    files::PendingFile file(path);
    ASSERT_TRUE(file.claim(silent).ok());
    EXPECT_TRUE(fs::exists(file.growing()));
  }
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(PendingFileTest, AFolderOrALinkIsRefused) {
  files::PendingFile ofFolder(folder);
  EXPECT_EQ(ofFolder.claim(silent).message(), "cannot write '" + folder + "': Is a directory");
  fs::create_symlink("/dev/null", path + ".partial");
  files::PendingFile file(path);
  Status status = file.claim(silent);
  EXPECT_NE(status.message().find("it is not a regular file; remove it"), std::string::npos) << status.message();
}

TEST_F(PendingFileTest, WritableFilesAreProbedWithoutATrace) {
  EXPECT_TRUE(files::checkWritable(path).ok());
  EXPECT_TRUE(fs::is_empty(folder));
  EXPECT_EQ(files::checkWritable(folder + "/none/x").message(), "cannot write '" + folder + "/none/x': No such file or directory");
}

TEST(OutputNameTest, EndingsOfOtherFormatsAreRefused) {
  EXPECT_TRUE(files::checkSafetensorsName("--output", "w.safetensors").ok());
  EXPECT_TRUE(files::checkSafetensorsName("--output", "weights").ok());
  EXPECT_TRUE(files::checkSafetensorsName("--output", "/dev/null").ok());
  engine::Status other = files::checkSafetensorsName("--output", "a/full.pt");
  EXPECT_EQ(other.code(), engine::Code::Usage);
  EXPECT_EQ(other.message(), "--output writes a safetensors file, not '.pt': name the file 'a/full.safetensors' instead of 'a/full.pt'");
  EXPECT_EQ(files::whyOtherFormat("--trace", "step.SVG", {".json"}), "--trace 'step.SVG' has the suffix of another format: use '.json'");
  EXPECT_EQ(files::whyOtherFormat("--trace", "step.trace", {".json"}), "");
  EXPECT_TRUE(files::endsWith("a.json", ".json"));
  EXPECT_FALSE(files::endsWith(".json", ".json"));
}

} // namespace
} // namespace npar::program
