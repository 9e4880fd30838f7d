// Messages about files that differ between processes.
#include "engine/job/SameFiles.h"
#include "engine/job/ReadFiles_generated.h"
#include "engine/tables/Tables.h"

#include <gtest/gtest.h>

namespace npar::job {
namespace {

ReadFile file(const std::string &path, uint64_t bytes, const std::string &first = "aa", const std::string &blocks = "bb") {
  return {path, {bytes, {{"first 10 bytes", first}, {"64 blocks of 4096 bytes", blocks}}}};
}

const std::vector<std::string> names = {"process 0 on 'a'", "process 1 on 'a'", "process 2 on 'b'"};

TEST(SameFilesTest, TheSameFilesAreNoDifference) {
  std::vector<ReadFile> files = {file("data.u16", 10), file("w.safetensors", 20)};
  EXPECT_TRUE(differences({files, files, files}, names).empty());
  EXPECT_TRUE(differences({{}, {}, {}}, names).empty());
}

TEST(SameFilesTest, FileProcessAndBothValuesAreNamed) {
  std::vector<std::string> texts = differences({{file("data.u16", 10)}, {file("data.u16", 10)}, {file("data.u16", 12)}}, names);
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0],
            "'data.u16' differs between process 2 on 'b' and process 0 on 'a': it has 12 bytes in the first, 10 bytes in the second\n"
            "npar: help: put the same copy on all hosts");
  texts = differences({{file("w", 10)}, {file("w", 10, "aa", "cc")}, {file("w", 10)}}, names);
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_NE(texts[0].find("process 1 on 'a'"), std::string::npos);
  EXPECT_NE(texts[0].find("the hash of its 64 blocks of 4096 bytes is cc in the first, bb in the second"), std::string::npos);
}

TEST(SameFilesTest, OtherFilesAreNamed) {
  std::vector<std::string> texts = differences({{file("run/step-4", 1)}, {file("run/step-6", 1)}, {}}, names);
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_NE(texts[0].find("process 1 on 'a' reads 'run/step-6', but process 0 on 'a' reads 'run/step-4'"), std::string::npos);
  EXPECT_NE(texts[1].find("process 2 on 'b' reads 0 files, but process 0 on 'a' reads 1"), std::string::npos);
}

TEST(SameFilesTest, ManyDifferencesAreCounted) {
  std::vector<ReadFile> one, other;
  for (int i = 0; i < 20; ++i)
    one.push_back(file("f" + std::to_string(i), 1)), other.push_back(file("f" + std::to_string(i), 2));
  std::vector<std::string> texts = differences({one, other}, names);
  ASSERT_EQ(texts.size(), 9u);
  EXPECT_EQ(texts.back(), "... and 12 more differences");
}

TEST(SameFilesTest, WhatIsSentComesBack) {
  std::vector<ReadFile> files = *unpackFiles(pack({file("a\xff", 10), file("b", 20)}));
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, "a\xff");
  EXPECT_EQ(files[1].fingerprint.bytes, 20u);
  EXPECT_EQ(files[1].fingerprint.parts[1].hash, "bb");
  EXPECT_TRUE(unpackFiles(pack(std::vector<ReadFile>()))->empty());
  EXPECT_FALSE(unpackFiles({1, 2, 3}).ok());
  EXPECT_FALSE(unpackFiles({}).ok());
}

// A buffer of 5,000 bytes would become files with a million bytes of names.
TEST(SameFilesTest, PathsThatShareTheirBytesAreRefused) {
  for (size_t count : {1, 1000}) {
    flatbuffers::FlatBufferBuilder builder;
    auto path = builder.CreateString(std::string(1000, 'x'));
    auto parts = builder.CreateVector(std::vector<flatbuffers::Offset<wire::FingerprintPart>>());
    std::vector<flatbuffers::Offset<wire::ReadFile>> files(count, wire::CreateReadFile(builder, path, 1, parts));
    EXPECT_EQ(unpackFiles(tables::finish(builder, wire::CreateReadFilesDirect(builder, &files))).ok(), count == 1);
  }
}

} // namespace
} // namespace npar::job
