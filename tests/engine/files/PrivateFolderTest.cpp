// Tests folders that no other user can write: refusals, and that links are not followed. As root, also with folders of other users.
#include "engine/files/PrivateFolder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace npar::program {
namespace {

namespace fs = std::filesystem;

class PrivateFolderTest : public ::testing::Test {
protected:
  PrivateFolderTest() {
    char pattern[] = "/tmp/npar-private-XXXXXX";
    folder = mkdtemp(pattern), root = folder + "/npar";
  }
  ~PrivateFolderTest() override { fs::remove_all(folder); }
  std::string refusal() {
    auto opened = files::PrivateFolder::open(root, "kernels");
    EXPECT_EQ(opened.status().code(), engine::Code::CheckFailed);
    return opened.status().message();
  }
  static mode_t modeOf(const std::string &path) {
    struct stat info = {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
  std::string folder, root;
};

TEST_F(PrivateFolderTest, MakesWhatIsMissingForItsUserAlone) {
  mode_t before = ::umask(0);
  auto opened = files::PrivateFolder::open(root + "/", "kernels/more");
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  ASSERT_TRUE(opened->write("a", "text", 4).ok());
  ::umask(before);
  for (const char *path : {"", "/kernels", "/kernels/more"})
    EXPECT_EQ(modeOf(root + path), 0700u);
  EXPECT_EQ(modeOf(root + "/kernels/more/a"), 0600u);
  auto bytes = opened->read("a", 4);
  ASSERT_TRUE(bytes.ok() && *bytes);
  EXPECT_EQ(std::string((*bytes)->begin(), (*bytes)->end()), "text");
  EXPECT_FALSE((*opened->read("b", 4)).has_value()) << "there is none";
  EXPECT_NE(opened->read("a", 3).status().message().find("has 4 bytes, more than the 3 that may be read"), std::string::npos);
}

TEST_F(PrivateFolderTest, FindMakesNothing) {
  auto missing = files::PrivateFolder::find(root, "kernels");
  ASSERT_TRUE(missing.ok()) << missing.status().message();
  EXPECT_FALSE(missing->has_value());
  EXPECT_FALSE(fs::exists(root));
  ASSERT_TRUE(files::PrivateFolder::open(root).ok());
  EXPECT_FALSE(files::PrivateFolder::find(root, "kernels")->has_value());
  ASSERT_TRUE(files::PrivateFolder::open(root, "kernels").ok());
  auto found = files::PrivateFolder::find(root, "kernels");
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_EQ((*found)->name(), root + "/kernels");
  ASSERT_EQ(::chmod(root.c_str(), 0777), 0);
  EXPECT_EQ(files::PrivateFolder::find(root, "kernels").status().code(), engine::Code::CheckFailed);
}

TEST_F(PrivateFolderTest, EachFolderFromTheRootOnIsLookedAt) {
  ASSERT_TRUE(files::PrivateFolder::open(root, "kernels").ok());
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_TRUE(files::PrivateFolder::open(root, "kernels").ok()) << "above the root anything may be";
  for (const std::string &path : {root, root + "/kernels"})
    for (mode_t mode : {0720, 0702}) {
      ASSERT_EQ(::chmod(path.c_str(), mode), 0);
      char text[8];
      std::snprintf(text, sizeof(text), "%04o", mode);
      EXPECT_EQ(refusal(), "'" + path + "' is not trusted, others can write it (mode " + text + "): chmod go-w");
      ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
    }
  EXPECT_TRUE(files::PrivateFolder::open(root, "kernels").ok());
}

TEST_F(PrivateFolderTest, LinksBelowTheRootAreNotFollowed) {
  ASSERT_TRUE(files::PrivateFolder::open(root, "kernels").ok());
  fs::rename(root + "/kernels", folder + "/elsewhere");
  fs::create_symlink(folder + "/elsewhere", root + "/kernels");
  EXPECT_FALSE(files::PrivateFolder::open(root, "kernels").ok());
  fs::remove(root + "/kernels");
  auto opened = files::PrivateFolder::open(root, "kernels");
  std::ofstream(folder + "/secret") << "text";
  fs::create_symlink(folder + "/secret", root + "/kernels/a");
  EXPECT_FALSE(opened->read("a", 100).ok());
  ASSERT_EQ(::mkfifo((root + "/kernels/b").c_str(), 0600), 0);
  EXPECT_FALSE(opened->read("b", 100).ok());
  ASSERT_TRUE(opened->write("a", "other", 5).ok()); // takes the place of the link
  std::ifstream kept(folder + "/secret");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "text");
}

TEST_F(PrivateFolderTest, WhatAnotherUserOwnsIsRefused) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give files away";
  auto opened = files::PrivateFolder::open(root, "kernels");
  ASSERT_TRUE(opened->write("a", "text", 4).ok());
  ASSERT_EQ(::chown((root + "/kernels/a").c_str(), 12345, 12345), 0);
  EXPECT_EQ(opened->read("a", 100).status().message(), "'" + root + "/kernels/a' is not trusted, user 12345 owns it");
  ASSERT_EQ(::chown(root.c_str(), 12345, 12345), 0);
  EXPECT_EQ(refusal(), "'" + root + "' is not trusted, user 12345 owns it");
}

TEST_F(PrivateFolderTest, WhereTheCacheIs) {
  for (const char *name : {"NPAR_CACHE", "XDG_CACHE_HOME", "HOME"})
    ::unsetenv(name);
  EXPECT_EQ(files::cachePlace("kernels").root, "");
  ::setenv("HOME", "/home/a", 1);
  EXPECT_EQ(files::cachePlace("kernels").path(), "/home/a/.cache/npar/kernels");
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(files::cachePlace("kernels").path(), "/x/npar/kernels");
  ::setenv("NPAR_CACHE", "/given", 1);
  EXPECT_EQ(files::cachePlace("kernels").path(), "/given");
  EXPECT_TRUE(files::cachePlace("kernels").asked);
}

} // namespace
} // namespace npar::program
