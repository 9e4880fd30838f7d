// Whole files are read up to a size; what has none, or says another one, ends there too.
#include "engine/files/BoundedText.h"
#include "engine/files/AtomicFile.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace npar::program {
namespace {

class BoundedText : public ::testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/npar-bounded-XXXXXX";
    folder = mkdtemp(pattern);
    path = folder + "/file";
  }
  void TearDown() override {
    unlink(path.c_str());
    rmdir(folder.c_str());
  }
  void write(const std::string &text) { std::ofstream(path, std::ios::binary) << text; }
  std::string errorOf(const std::string &what, uint64_t most) {
    auto text = files::readBoundedText(path, what, most);
    return text.ok() ? "read" : text.status().message();
  }
  std::string folder, path;
};

TEST_F(BoundedText, ReadsUpToItsLimit) {
  for (const std::string &text : {std::string(), std::string("a"), std::string(3 << 20, 'x'), std::string("\0\n", 2)}) {
    write(text);
    auto read = files::readBoundedText(path, "text", text.size());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, text);
    auto bytes = files::readBoundedBytes(path, "text", UINT64_MAX);
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(std::string(bytes->begin(), bytes->end()), text);
  }
}

TEST_F(BoundedText, RefusesMore) {
  write(std::string(4097, 'x'));
  EXPECT_EQ(errorOf("the run", 4096), "cannot read the run '" + path + "': it has more than 4096 bytes (4 KiB), the limit");
  EXPECT_EQ(errorOf("", 100), "cannot read '" + path + "': it has more than 100 bytes, the limit");
  EXPECT_EQ(errorOf("", 4097), "read");
  EXPECT_EQ(files::readFile(path, 4096).status().message(), "cannot read '" + path + "': it has 4097 bytes, at most 4096 are read");
  EXPECT_TRUE(files::readFile(path, 4097).ok());
}

TEST_F(BoundedText, RefusesWhatIsNoFile) {
  EXPECT_EQ(errorOf("text", 10), "cannot read text '" + path + "': No such file or directory");
  path.swap(folder);
  EXPECT_EQ(errorOf("text", 10), "cannot read text '" + path + "': it is a directory");
  path.swap(folder);
}

// A device has no end, and states no size.
TEST_F(BoundedText, EndsAtItsLimitWhereTheFileHasNoEnd) {
  auto read = files::readBoundedText("/dev/zero", "text", 100'000);
  EXPECT_EQ(read.status().message(), "cannot read text '/dev/zero': it has more than 100000 bytes, the limit");
  EXPECT_FALSE(files::readFile("/dev/zero", 100'000).ok());
}

// The writer opens a pipe after its reader, and writes in pieces.
TEST_F(BoundedText, WaitsForAPipe) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([this] {
    std::ofstream pipe(path, std::ios::binary);
    for (int i = 0; i < 3; ++i) {
      pipe << std::string(50'000, 'x') << std::flush;
      usleep(20'000);
    }
  });
  auto read = files::readBoundedText(path, "text", 1 << 20);
  writer.join();
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->size(), 150'000u);
}

} // namespace
} // namespace npar::program
