// Fingerprints of files: the same for copies, others for whatever differs in length, at an end or in the middle.
#include "engine/files/Fingerprint.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::program {
namespace {

class FingerprintTest : public ::testing::Test {
protected:
  FingerprintTest() : path(::testing::TempDir() + "npar-fingerprint-" + std::to_string(::getpid())) {}
  ~FingerprintTest() override { ::unlink(path.c_str()); }

  std::vector<std::string> of(const std::string &bytes, files::FingerprintKind kind, uint64_t seed = 7) {
    std::ofstream(path, std::ios::binary) << bytes;
    engine::Result<files::Fingerprint> found = files::fingerprintOf(path, kind, seed);
    EXPECT_TRUE(found.ok()) << found.status().message();
    std::vector<std::string> hashes = {std::to_string(found->bytes)};
    for (const files::Fingerprint::Part &part : found->parts)
      hashes.push_back(part.hash);
    return hashes;
  }
  static std::string text(size_t size) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<char>(i * i + i / 251);
    return bytes;
  }

  std::string path;
};

TEST_F(FingerprintTest, CopiesHaveTheSame) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{4095}, size_t{70000}, size_t{3} << 20})
    for (files::FingerprintKind kind : {files::FingerprintKind::Sampled, files::FingerprintKind::Full})
      EXPECT_EQ(of(text(size), kind), of(text(size), kind)) << size;
}

TEST_F(FingerprintTest, EachKindOfDifferenceShowsInItsPart) {
  std::string bytes = text(size_t{3} << 20);
  std::vector<std::string> first = of(bytes, files::FingerprintKind::Sampled);
  ASSERT_EQ(first.size(), 4u);
  auto changedParts = [&](std::string other) {
    std::vector<std::string> second = of(other, files::FingerprintKind::Sampled);
    std::string changed;
    for (size_t i = 0; i < first.size(); ++i)
      changed += first[i] == second[i] ? '.' : 'x';
    return changed.substr(0, 3);
  };
  std::string head = bytes, tail = bytes;
  head[100] ^= 1, tail[tail.size() - 1] ^= 1;
  EXPECT_EQ(changedParts(head), ".x.");
  EXPECT_EQ(changedParts(tail), "..x");
  EXPECT_EQ(changedParts(bytes + "a").substr(0, 1), "x");
  std::string middle = bytes;
  for (size_t i = size_t{1} << 20; i < size_t{2} << 20; ++i)
    middle[i] ^= 1;
  std::vector<std::string> second = of(middle, files::FingerprintKind::Sampled);
  EXPECT_EQ(first[1], second[1]);
  EXPECT_NE(first[3], second[3]);
}

TEST_F(FingerprintTest, AByteThatNoBlockHoldsShowsInFullAlone) {
  std::string bytes = text(size_t{3} << 20);
  std::vector<std::string> full = of(bytes, files::FingerprintKind::Full), sampled = of(bytes, files::FingerprintKind::Sampled);
  size_t missed = 0;
  for (size_t at = size_t{1} << 20; at < (size_t{1} << 20) + 10 * 4096; at += 4096) {
    std::string other = bytes;
    other[at] ^= 1;
    EXPECT_NE(of(other, files::FingerprintKind::Full), full);
    missed += of(other, files::FingerprintKind::Sampled) == sampled;
  }
  EXPECT_GT(missed, 5u); // 64 of 768 blocks are read
}

TEST_F(FingerprintTest, TheSeedChoosesTheBlocks) {
  std::string bytes = text(size_t{3} << 20);
  EXPECT_NE(of(bytes, files::FingerprintKind::Sampled, 1)[3], of(bytes, files::FingerprintKind::Sampled, 2)[3]);
  EXPECT_EQ(of(bytes, files::FingerprintKind::Sampled, 1)[2], of(bytes, files::FingerprintKind::Sampled, 2)[2]);
}

TEST_F(FingerprintTest, AFileThatIsNotThereIsNamed) {
  engine::Result<files::Fingerprint> found = files::fingerprintOf(path + "-none", files::FingerprintKind::Full, 1);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find(path + "-none"), std::string::npos);
}

TEST_F(FingerprintTest, FoldersDifferByNamesAndContents) {
  const std::string folder = path + "-folder";
  auto write = [&](const std::string &name, const std::string &bytes) {
    std::filesystem::create_directories(std::filesystem::path(folder + "/" + name).parent_path());
    std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
  };
  auto hashes = [&](files::FingerprintKind kind) {
    engine::Result<files::Fingerprint> found = files::fingerprintOf(folder, kind, 7);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return std::pair(found->parts[0].hash, found->parts[1].hash);
  };
  for (const char *name : {"a/1.png", "a/2.jpg", "b/1.png", "notes"})
    write(name, name);
  for (files::FingerprintKind kind : {files::FingerprintKind::Sampled, files::FingerprintKind::Full}) {
    auto first = hashes(kind);
    write("notes", "other");
    for (const char *other : {"a/Thumbs.db", "a/.1.png", ".cache/1.png"})
      write(other, "x");
    EXPECT_EQ(hashes(kind), first) << "files that are no pictures of a class";
    write("c/1.png", "x");
    EXPECT_NE(hashes(kind).first, first.first);
    std::filesystem::remove_all(folder + "/c");
    EXPECT_EQ(hashes(kind), first);
  }
  auto first = hashes(files::FingerprintKind::Full);
  write("b/1.png", "other");
  EXPECT_EQ(hashes(files::FingerprintKind::Full).first, first.first);
  EXPECT_NE(hashes(files::FingerprintKind::Full).second, first.second);
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace npar::program
