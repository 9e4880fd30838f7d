// Resharded checkpoints have the same tensors and are complete. They are written completely or not at all.
#include "engine/checkpoint/Reshard.h"

#include "engine/checkpoint/CheckpointWriter.h"
#include "engine/checkpoint/TensorFiles.h"
#include "engine/checkpoint/Resume.h"
#include "engine/checkpoint/TensorDiff.h"
#include "engine/checkpoint/VerifyCheckpoint.h"
#include "tests/engine/checkpoint/SmallCheckpoint.h"
#include "tests/engine/runtime/PipelineProgram.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;
namespace fs = std::filesystem;

class ReshardTest : public ::testing::Test {
protected:
  void SetUp() override { folder = "/tmp/npar-reshard-" + std::to_string(::getpid()); }
  void TearDown() override { fs::remove_all(folder); }
  /// Writes the cut, and opens what came of it.
  std::shared_ptr<const CheckpointStore> write(const CheckpointStore &source, const Manifest &cut) {
    Result<std::string> path = writeCut(source, cut, folder);
    EXPECT_TRUE(path.ok()) << path.status().message();
    if (!path.ok())
      return nullptr;
    EXPECT_EQ(*path, folder + "/step-" + std::to_string(cut.step));
    Result<CheckpointVerified> verified = verifyCheckpoint(*path);
    EXPECT_TRUE(verified.ok()) << verified.status().message();
    Result<std::shared_ptr<const CheckpointStore>> opened = openCheckpointStore(*path);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? *opened : nullptr;
  }
  void expectEqual(const TensorStore &left, const TensorStore &right) {
    Result<StoreDifference> difference = compareStores(left, right);
    ASSERT_TRUE(difference.ok()) << difference.status().message();
    EXPECT_EQ(difference->tensors.size(), 0u);
    EXPECT_EQ(difference->compared, left.tensors().size());
  }
  std::string folder;
  MemoryCheckpoint source;
};

TEST_F(ReshardTest, intoAnyNumberOfFilesAndBack) {
  for (uint64_t files : {1, 2, 3, 7, 60}) {
    fs::remove_all(folder);
    Manifest cut = evenCut(source.manifest(), files);
    EXPECT_LE(cut.files.size(), files);
    std::shared_ptr<const CheckpointStore> written = write(source, cut);
    ASSERT_TRUE(written) << files;
    expectEqual(source, *written);
    EXPECT_EQ(written->manifest().step, 100u);
    EXPECT_EQ(written->manifest().data[0].samples, 1600u);
    EXPECT_EQ(written->manifest().call.texts.size(), 1u);
    if (files == 7) { // from a cut into another
      fs::remove_all(folder + "-2");
      Result<std::string> again = writeCut(*written, evenCut(written->manifest(), 2), folder + "-2");
      ASSERT_TRUE(again.ok()) << again.status().message();
      expectEqual(source, **openCheckpointStore(*again));
      fs::remove_all(folder + "-2");
    }
  }
}

TEST_F(ReshardTest, filesAreOfNearlyEqualSize) {
  Manifest cut = evenCut(source.manifest(), 4);
  std::vector<uint64_t> bytes(cut.files.size(), 0);
  for (const ManifestTensor &tensor : cut.tensors)
    for (const ManifestPiece &piece : tensor.pieces)
      bytes[piece.file] += piece.elements() * bytesOfType(tensor.type);
  ASSERT_EQ(bytes.size(), 4u);
  for (uint64_t each : bytes)
    EXPECT_NEAR(static_cast<double>(each), static_cast<double>(bytes[0]), 16);
}

TEST_F(ReshardTest, rectanglesAndRanges) {
  std::shared_ptr<const CheckpointStore> written = write(source, source.threeFiles());
  ASSERT_TRUE(written);
  expectEqual(source, *written);
}

TEST_F(ReshardTest, whatIsThereIsNotReplaced) {
  ASSERT_TRUE(write(source, evenCut(source.manifest(), 2)));
  Result<std::string> again = writeCut(source, evenCut(source.manifest(), 3), folder);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().message(), "'" + folder + "/step-100' already exists: give another folder, or remove it first");
  EXPECT_EQ((*openCheckpointStore(folder))->manifest().files.size(), 2u);
}

TEST_F(ReshardTest, aFailureLeavesNothing) {
  source.unreadable = "b";
  Result<std::string> path = writeCut(source, source.threeFiles(), folder);
  ASSERT_FALSE(path.ok());
  EXPECT_EQ(path.status().message(), "tensor 'b' cannot be read");
  EXPECT_TRUE(fs::is_empty(folder));
  Manifest cut = source.threeFiles();
  cut.files[1].name = "no/such/folder.safetensors";
  EXPECT_EQ(writeCut(source, cut, folder).status().code(), Code::Internal) << "no checkpoint has such a file";
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(ReshardTest, asAnotherProgramOwnsIt) {
  auto program = [](int64_t width, uint32_t dataParallel) {
    PipelineShape shape;
    shape.width = width, shape.dataParallel = dataParallel;
    return pipelineProgram(shape)->load();
  };
  auto session = [](const std::shared_ptr<const program::LoadedProgram> &loaded, uint64_t seed) {
    SessionOptions options;
    options.threads = 1, options.seed = seed;
    return std::move(*Session::create(loaded, options));
  };
  auto wide = program(4, 2), narrow = program(4, 1), other = program(8, 1);
  auto trained = session(wide, 1), resumed = session(narrow, 2);
  CheckpointOptions options;
  options.folder = folder + "/own";
  fs::create_directory(folder);
  auto writer = CheckpointWriter::open(*trained, wide, options);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  TrainingState state;
  state.step = 3;
  ASSERT_TRUE((*writer)->save(state).ok());
  ASSERT_TRUE((*writer)->finish().ok());
  auto saved = openCheckpointStore(folder + "/own");
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  Result<Manifest> cut = programCut(**saved, *narrow);
  ASSERT_TRUE(cut.ok()) << cut.status().message();
  EXPECT_LT(cut->world(), (*saved)->manifest().world());
  folder += "/cut";
  std::shared_ptr<const CheckpointStore> written = write(**saved, *cut);
  ASSERT_TRUE(written);
  expectEqual(**saved, *written);
  auto remarks = resumeFrom(*resumed, narrow->root(), *written);
  ASSERT_TRUE(remarks.ok()) << remarks.status().message();
  EXPECT_EQ(resumed->parameterHash(), trained->parameterHash());
  EXPECT_NE(programCut(**saved, *other).status().message().find("belongs to another model"), std::string::npos);
  folder = folder.substr(0, folder.rfind('/'));
}

TEST_F(ReshardTest, consolidated) {
  fs::create_directory(folder);
  const std::string path = folder + "/all.safetensors";
  std::vector<TensorToStore> tensors;
  for (const auto &[name, entry] : source.tensors())
    tensors.push_back({name, name, entry.type});
  ASSERT_TRUE(writeTensorFile(source, tensors, path).ok());
  auto whole = openTensorStore(path);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  expectEqual(source, **whole);

  auto files = cutIntoFiles(source, tensors, 200);
  ASSERT_EQ(files.size(), 4u); // b 160 | b.exp_avg 160 + empty 0 + half 30 + scale 8 | w 192 | w.exp_avg 192
  std::vector<std::string> second;
  for (const TensorToStore &tensor : files[1])
    second.push_back(tensor.name);
  EXPECT_EQ(second, (std::vector<std::string>{"b.exp_avg", "empty", "half", "scale"}));
  EXPECT_EQ(cutIntoFiles(source, tensors, 1).size(), 6u) << "a tensor is never cut; one without bytes begins no file of its own";
  TensorFolder options;
  options.folder = folder + "/split/", options.fileBytes = 200, options.texts = {{"note.txt", "four files"}};
  auto written = writeTensorFolder(source, tensors, options);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->files, 4u);
  EXPECT_TRUE(fs::exists(folder + "/split/note.txt"));
  auto split = openTensorStore(folder + "/split");
  ASSERT_TRUE(split.ok()) << split.status().message();
  expectEqual(source, **split);
  EXPECT_FALSE(writeTensorFolder(source, tensors, options).ok()) << "it holds something";

  options.folder = folder + "/stopped", options.written = [](uint64_t) { return false; };
  EXPECT_FALSE(writeTensorFolder(source, tensors, options).ok());
  EXPECT_FALSE(fs::exists(options.folder)) << "whole or not at all";
}

} // namespace
} // namespace npar::testing
