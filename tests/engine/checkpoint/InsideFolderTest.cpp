// Names of files that a file states: what leads out of its folder is refused, by words and by links.
#include "engine/files/InsideFolder.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using files::pathInside;
namespace fs = std::filesystem;

class InsideFolderTest : public ::testing::Test {
protected:
  void SetUp() override {
    fs::create_directories(folder / "below");
    std::ofstream(folder / "a.safetensors") << "a";
    std::ofstream(outside) << "secret";
  }
  void TearDown() override { fs::remove_all(top); }
  std::string refusal(const std::string &name) {
    auto path = pathInside(folder.string(), name);
    EXPECT_FALSE(path.ok()) << name;
    return path.ok() ? "" : path.status().message();
  }
  fs::path top = fs::temp_directory_path() / ("npar-inside-" + std::to_string(::getpid()));
  fs::path folder = top / "folder", outside = top / "secret";
};

TEST_F(InsideFolderTest, namesOfTheFolder) {
  for (const char *name : {"a.safetensors", "below/b.safetensors", "missing", "..a", "a..", "with space"}) {
    auto path = pathInside(folder.string(), name);
    ASSERT_TRUE(path.ok()) << name << ": " << path.status().message();
    EXPECT_EQ(*path, (folder / name).string());
  }
  fs::create_symlink("a.safetensors", folder / "link");
  EXPECT_TRUE(pathInside(folder.string(), "link").ok()) << "a link within the folder";
  fs::create_directory_symlink(folder, top / "named");
  EXPECT_TRUE(pathInside((top / "named").string(), "a.safetensors").ok()) << "the folder itself may be a link";
}

TEST_F(InsideFolderTest, wordsThatLeadOut) {
  for (const char *name : {"../secret", "..", ".", "below/../../secret", "below/..", "./a.safetensors", "below//b", "below/", "/"})
    EXPECT_NE(refusal(name).find("file name '" + std::string(name) + "' "), std::string::npos) << refusal(name);
  EXPECT_EQ(refusal(outside.string()), "file name '" + outside.string() + "' is absolute, but must lead into its own folder");
  EXPECT_EQ(refusal(""), "file name '' is empty");
  EXPECT_EQ(refusal(std::string("a\0b", 3)), "file name 'a\\x00b' has bytes that are not printable");
  EXPECT_EQ(refusal("a\x1b[31m"), "file name 'a\\x1b[31m' has bytes that are not printable");
  EXPECT_EQ(refusal(std::string(5000, 'a')), "a file name of 5000 bytes is too long");
}

TEST_F(InsideFolderTest, linksThatLeadOut) {
  fs::create_symlink(outside, folder / "link");
  EXPECT_EQ(refusal("link"), "file name 'link' is a link to '" + outside.string() + "', outside of folder '" + folder.string() +
                                 "'; put a copy of the file there");
  fs::create_directory_symlink(top, folder / "up");
  EXPECT_NE(refusal("up/secret").find("is a link to"), std::string::npos);
  fs::create_symlink("/nonexistent/x", folder / "dangling");
  EXPECT_NE(refusal("dangling").find("outside of folder"), std::string::npos);
  fs::create_directory(top / "folder2"); // begins like the folder
  fs::create_symlink(top / "folder2", folder / "beside");
  EXPECT_NE(refusal("beside").find("is a link to"), std::string::npos);
}

} // namespace
} // namespace npar::testing
