// A failed write leaves the old file unchanged and no other file.
#include "engine/files/AtomicFile.h"
#include "engine/files/Destination.h"

#include <csignal>
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace npar::program {
namespace {

class AtomicFile : public ::testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/npar-file-XXXXXX";
    directory = mkdtemp(pattern);
  }
  void TearDown() override {
    for (const std::string &name : entries())
      unlink((directory + "/" + name).c_str());
    rmdir(directory.c_str());
  }
  std::vector<std::string> entries() {
    std::vector<std::string> names;
    DIR *stream = opendir(directory.c_str());
    while (dirent *entry = readdir(stream))
      if (entry->d_name[0] != '.')
        names.push_back(entry->d_name);
    closedir(stream);
    return names;
  }
  std::string directory;
};

TEST_F(AtomicFile, ReplacesAWholeFile) {
  std::string path = directory + "/a";
  ASSERT_TRUE(files::writeFileAtomically(path, "first", 5).ok());
  ASSERT_TRUE(files::writeFileAtomically(path, "2nd", 3).ok());
  auto bytes = files::readFile(path);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(std::string(bytes->begin(), bytes->end()), "2nd");
  EXPECT_EQ(entries(), std::vector<std::string>{"a"});
}

TEST_F(AtomicFile, KeepsTheOldFileWhenWritingFails) {
  std::string path = directory + "/a";
  ASSERT_TRUE(files::writeFileAtomically(path, "old", 3).ok());
  // A limit on file size stands for a full disk.
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = {100, before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  std::string large(1000, 'x');
  engine::Status status = files::writeFileAtomically(path, large.data(), large.size());
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(), "cannot write '" + path + "': File too large");
  auto bytes = files::readFile(path);
  EXPECT_EQ(std::string(bytes->begin(), bytes->end()), "old");
  EXPECT_EQ(entries(), std::vector<std::string>{"a"});
}

TEST_F(AtomicFile, ReportsAFullDevice) {
  engine::Status status = files::writeFileAtomically("/dev/full", "x", 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(), "cannot write '/dev/full': No space left on device");
}

TEST_F(AtomicFile, RefusesADirectoryAndAMissingFolder) {
  EXPECT_FALSE(files::writeFileAtomically(directory, "x", 1).ok());
  EXPECT_FALSE(files::writeFileAtomically(directory + "/no/such", "x", 1).ok());
  EXPECT_TRUE(entries().empty());
}

TEST_F(AtomicFile, FollowsSymbolicLinksToFilesThatAreStillToBeMade) {
  std::string link = directory + "/link", circle = directory + "/circle";
  ASSERT_EQ(symlink("target", link.c_str()), 0);
  ASSERT_EQ(symlink("circle", circle.c_str()), 0);
  EXPECT_EQ(files::destinationOf(link).path, directory + "/target");
  for (const char *text : {"one", "two"}) {
    ASSERT_TRUE(files::writeFileAtomically(link, text, 3).ok());
    auto bytes = files::readFile(directory + "/target");
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(std::string(bytes->begin(), bytes->end()), text);
  }
  (void)files::destinationOf(circle); // ends
  struct stat status;
  ASSERT_EQ(lstat(link.c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
}

TEST_F(AtomicFile, WritesToAnOpenFileByItsName) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::string link = directory + "/link", name = "/proc/self/fd/" + std::to_string(ends[1]);
  ASSERT_EQ(symlink(name.c_str(), link.c_str()), 0);
  EXPECT_EQ(files::destinationOf(link).descriptor, ends[1]);
  EXPECT_EQ(files::destinationOf("/dev/fd/" + std::to_string(ends[1])).descriptor, ends[1]);
  ASSERT_TRUE(files::writeFileAtomically(link, "text", 4).ok());
  char got[4];
  ASSERT_EQ(read(ends[0], got, 4), 4);
  EXPECT_EQ(std::string(got, 4), "text");
  close(ends[0]), close(ends[1]);
  EXPECT_EQ(files::destinationOf(directory + "/none").descriptor, -1);
}

} // namespace
} // namespace npar::program
