// Checkpoints of a session: written, committed, kept, read back; what is wrong with one is named, and nothing is applied.
#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/CheckpointWriter.h"
#include "engine/checkpoint/OwnFiles.h"
#include "engine/checkpoint/Resume.h"
#include "engine/files/Folders.h"
#include "tests/engine/runtime/PipelineProgram.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;
namespace fs = std::filesystem;

class CheckpointTest : public ::testing::Test {
protected:
  void SetUp() override {
    folder = "/tmp/npar-checkpoints-" + std::to_string(::getpid());
    fs::remove_all(folder);
  }
  void TearDown() override { fs::remove_all(folder); }
  std::shared_ptr<const program::LoadedProgram> program(int64_t width = 4, uint32_t dataParallel = 2) {
    PipelineShape shape;
    shape.width = width, shape.dataParallel = dataParallel;
    return pipelineProgram(shape)->load();
  }
  std::unique_ptr<Session> session(const std::shared_ptr<const program::LoadedProgram> &program, uint64_t seed = 1) {
    SessionOptions options;
    options.threads = 1, options.seed = seed;
    auto created = Session::create(program, options);
    EXPECT_TRUE(created.ok()) << created.status().message();
    return std::move(*created);
  }
  std::unique_ptr<CheckpointWriter> writer(Session &session, const std::shared_ptr<const program::LoadedProgram> &program,
                                           uint64_t keep = 0) {
    CheckpointOptions options;
    options.folder = folder, options.keep = keep, options.retrySeconds = 0.05;
    options.call.text = "m.npar";
    options.texts = {{"m.npar", "model M() {}\n"}};
    auto opened = CheckpointWriter::open(session, program, options);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  Status save(CheckpointWriter &writer, uint64_t step) {
    TrainingState state;
    state.step = step, state.seed = 7;
    Status status = writer.save(state);
    return status.ok() ? writer.finish() : status;
  }
  /// A session's parameters saved as the checkpoint of a step.
  void saveOnce(uint64_t step = 1) {
    auto loaded = program();
    auto trained = session(loaded);
    auto checkpoints = writer(*trained, loaded);
    Status status = save(*checkpoints, step);
    ASSERT_TRUE(status.ok()) << status.message();
    hash = trained->parameterHash();
  }
  std::vector<std::string> names() { // without the lock of a writer that still exists
    std::vector<std::string> all = *files::namesIn(folder);
    all.erase(std::remove(all.begin(), all.end(), files::FolderLock::fileName), all.end());
    return all;
  }
  std::string resumeError(int64_t width = 4) {
    auto loaded = program(width);
    auto fresh = session(loaded, 2);
    std::string before = fresh->parameterHash();
    auto store = openCheckpointStore(folder);
    Status status = store.ok() ? resumeFrom(*fresh, loaded->root(), **store).status() : store.status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.code(), Code::BadInput);
    EXPECT_EQ(fresh->parameterHash(), before) << "nothing may be applied";
    return status.message();
  }
  void flip(const std::string &file, int64_t fromEnd) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(-fromEnd, std::ios::end);
    auto byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(-fromEnd, std::ios::end);
    stream.put(byte);
  }
  std::string folder, hash;
};

TEST_F(CheckpointTest, AnotherPlanReadsWhatOnePlanWrote) {
  saveOnce(3);
  EXPECT_EQ(names(), std::vector<std::string>{"step-3"});
  auto loaded = program(4, 1);
  auto fresh = session(loaded, 2);
  ASSERT_NE(fresh->parameterHash(), hash);
  auto store = openCheckpointStore(folder);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->manifest().step, 3u);
  EXPECT_EQ((*store)->manifest().seed, 7u);
  EXPECT_EQ((*store)->manifest().call.texts[0].name, "model/m.npar");
  EXPECT_EQ((*store)->tensors().at("w0").shape, std::vector<int64_t>{4});
  auto resumed = resumeFrom(*fresh, loaded->root(), **store);
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  EXPECT_EQ(fresh->parameterHash(), hash);
}

TEST_F(CheckpointTest, TheNewestAreKept) {
  auto loaded = program();
  auto trained = session(loaded);
  auto checkpoints = writer(*trained, loaded, 2);
  for (uint64_t step : {2, 9, 10})
    ASSERT_TRUE(save(*checkpoints, step).ok());
  EXPECT_EQ(names(), (std::vector<std::string>{"step-10", "step-9"}));
  EXPECT_EQ(checkpoints->newest(), folder + "/step-10");
  EXPECT_TRUE(checkpoints->takeRemarks().empty());
}

TEST_F(CheckpointTest, WhatAKilledRunLeftGoesAndNothingElse) {
  saveOnce();
  for (const char *name : {"step-7.partial-1-ab", "step-1.partial-x-old", "step-x.partial-1", "notes.partial-1", "step-7.parts"}) {
    fs::create_directories(fs::path(folder) / name / "model");
    std::ofstream(fs::path(folder) / name / UnfinishedMark::fileName) << UnfinishedMark::text({"rank-00000.safetensors"});
  }
  auto loaded = program();
  auto trained = session(loaded);
  auto checkpoints = writer(*trained, loaded);
  EXPECT_EQ(names(), (std::vector<std::string>{"notes.partial-1", "step-1", "step-7.parts", "step-x.partial-1"}));
}

TEST_F(CheckpointTest, TwoRunsDoNotShareAFolder) {
  auto loaded = program();
  auto trained = session(loaded);
  auto checkpoints = writer(*trained, loaded);
  CheckpointOptions options;
  options.folder = folder;
  auto second = CheckpointWriter::open(*trained, loaded, options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(), "cannot write to '" + folder + "': another run is using it");
  checkpoints.reset();
  EXPECT_TRUE(CheckpointWriter::open(*trained, loaded, options).ok());
}

TEST_F(CheckpointTest, AFailedSaveLeavesTheOneBefore) {
  auto loaded = program();
  auto trained = session(loaded);
  auto checkpoints = writer(*trained, loaded);
  ASSERT_TRUE(save(*checkpoints, 1).ok());
  std::ofstream(folder + "/step-2") << "a file that has the name";
  Status status = save(*checkpoints, 2);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::BadInput);
  EXPECT_EQ(status.message().find("checkpoint '" + folder + "/step-2' was not written: "), 0u) << status.message();
  EXPECT_NE(status.message().find("'" + folder + "/step-1' is whole"), std::string::npos) << status.message();
  EXPECT_EQ(names(), (std::vector<std::string>{"step-1", "step-2"})) << "no partial folder stays";
  EXPECT_TRUE(checkpoints->poll().ok()) << "a failure is told once";
  EXPECT_TRUE(checkpoints->usable());
  EXPECT_EQ(checkpoints->takeRemarks().size(), 2u) << "it was tried three times";
  fs::remove_all(folder + "/step-2");
  EXPECT_TRUE(save(*checkpoints, 2).ok()) << "and the next one is written";
}

TEST_F(CheckpointTest, AFailedSaveIsTriedAgain) {
  auto loaded = program();
  auto trained = session(loaded);
  auto checkpoints = writer(*trained, loaded);
  std::ofstream(folder + "/step-2") << "in the way for a moment";
  TrainingState state;
  state.step = 2, state.seed = 7;
  ASSERT_TRUE(checkpoints->save(state).ok());
  std::vector<std::string> said;
  while (said.empty()) {
    ASSERT_TRUE(checkpoints->poll().ok());
    said = checkpoints->takeRemarks();
  }
  EXPECT_NE(said[0].find("; try 2 of 3 follows"), std::string::npos) << said[0];
  fs::remove(folder + "/step-2");
  Status status = checkpoints->finish();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(names(), std::vector<std::string>{"step-2"});
  EXPECT_EQ(checkpoints->newest(), folder + "/step-2");
}

TEST_F(CheckpointTest, DamageIsNamed) {
  saveOnce();
  std::string shard = folder + "/step-1/rank-00000.safetensors";
  flip(shard, 1);
  EXPECT_EQ(resumeError(), "checkpoint '" + folder +
                               "/step-1': file 'rank-00000.safetensors', tensor 'w0': its bytes were changed after "
                               "they were written");
  flip(shard, 1);
  fs::resize_file(shard, fs::file_size(shard) - 1);
  EXPECT_NE(resumeError().find("file 'rank-00000.safetensors' has "), std::string::npos);
  fs::remove(shard);
  EXPECT_NE(resumeError().find("file 'rank-00000.safetensors': No such file"), std::string::npos);
  fs::create_symlink(folder + "/step-1/rank-00001.safetensors", shard);
  EXPECT_NE(resumeError().find("file 'rank-00000.safetensors' is not a regular file"), std::string::npos);
}

TEST_F(CheckpointTest, SwappedShardsAreNoticed) {
  saveOnce();
  std::string one = folder + "/step-1/rank-00000.safetensors", other = folder + "/step-1/rank-00001.safetensors";
  ASSERT_TRUE(fs::exists(other));
  fs::rename(one, folder + "/x"), fs::rename(other, one), fs::rename(folder + "/x", other);
  EXPECT_NE(resumeError().find("file 'rank-00000.safetensors', tensor 'w0'"), std::string::npos) << resumeError();
}

TEST_F(CheckpointTest, AChangedModelIsNamedByItsFirstTensor) {
  saveOnce();
  EXPECT_EQ(resumeError(6), "checkpoint '" + folder + "/step-1' belongs to another model: tensor 'w0' has shape [4] there and [6] here");
}

TEST_F(CheckpointTest, AFolderWithoutCheckpointsIsNone) {
  EXPECT_FALSE(isCheckpoint(folder));
  EXPECT_TRUE(committedCheckpoints(folder)->empty());
  EXPECT_EQ(openCheckpointStore(folder).status().message(),
            "'" + folder + "' holds no checkpoint: it has neither a manifest.json nor a folder 'step-N'");
}

} // namespace
} // namespace npar::testing
