// Removing a checkpoint takes the files that npar has written, and nothing that a link, a name or a bad manifest leads to.
#include "engine/checkpoint/OwnFiles.h"
#include "engine/checkpoint/CheckpointFolder.h"
#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/Reshard.h"
#include "tests/engine/checkpoint/SmallCheckpoint.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;
namespace fs = std::filesystem;

class OwnFilesTest : public ::testing::Test {
protected:
  void SetUp() override {
    top = fs::temp_directory_path() / ("npar-own-files-" + std::to_string(::getpid()));
    fs::remove_all(top);
    fs::create_directories(top / "elsewhere");
    put(top / "elsewhere" / "precious.txt");
    run = top / "run";
  }
  void TearDown() override { fs::remove_all(top); }
  void put(const fs::path &path, const std::string &text = "mine") { std::ofstream(path) << text; }
  /// A whole checkpoint of a step.
  fs::path write(uint64_t step) {
    MemoryCheckpoint source;
    Manifest manifest = source.threeFiles();
    manifest.step = step;
    Result<std::string> path = writeCut(source, manifest, run.string());
    EXPECT_TRUE(path.ok()) << path.status().message();
    return run / ("step-" + std::to_string(step));
  }
  std::vector<std::string> names(const fs::path &folder) { return *files::namesIn(folder.string()); }
  std::vector<std::string> open() {
    std::vector<std::string> remarks;
    Result<CheckpointFolder> folder = CheckpointFolder::open(run.string(), remarks);
    EXPECT_TRUE(folder.ok()) << folder.status().message();
    return remarks;
  }
  /// Removes all checkpoints except the newest.
  std::vector<std::string> keepOne(int times = 1) {
    std::vector<std::string> remarks, first;
    Result<CheckpointFolder> folder = CheckpointFolder::open(run.string(), remarks);
    EXPECT_TRUE(folder.ok()) << folder.status().message();
    for (int i = 0; i < times && folder.ok(); ++i) {
      Status status = folder->removeOld(1, {}, "tag", remarks);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    return remarks;
  }
  fs::path top, run;
};

TEST_F(OwnFilesTest, anOldCheckpointThatIsALinkStaysAndSoDoesWhatItLeadsTo) {
  write(3);
  fs::rename(write(1), top / "elsewhere" / "archived");
  fs::create_directory_symlink(top / "elsewhere" / "archived", run / "step-1");
  fs::create_directory_symlink(top / "elsewhere", run / "step-2");
  EXPECT_EQ(keepOne(2), std::vector<std::string>{"old checkpoint '" + (run / "step-1").string() + "' stays: it is a link"});
  EXPECT_TRUE(fs::exists(top / "elsewhere" / "archived" / "manifest.json"));
  EXPECT_TRUE(fs::exists(top / "elsewhere" / "precious.txt"));
  EXPECT_EQ(names(run), (std::vector<std::string>{"step-1", "step-2", "step-3"}));
}

TEST_F(OwnFilesTest, aLinkWithinACheckpointIsNotFollowed) {
  fs::path old = write(1);
  write(2);
  fs::remove_all(old / "model");
  fs::create_directory_symlink(top / "elsewhere", old / "model");
  put(top / "elsewhere" / "m.npar"); // a name that the manifest has
  ASSERT_EQ(keepOne().size(), 1u);
  EXPECT_EQ(names(top / "elsewhere"), (std::vector<std::string>{"m.npar", "precious.txt"}));
  EXPECT_EQ(names(old), std::vector<std::string>{"model"});
}

TEST_F(OwnFilesTest, somebodyElsesFilesStayAndAreNamed) {
  fs::path old = write(1);
  write(2);
  put(old / "notes.txt"), put(old / "model" / "mine.npar"), fs::create_directories(old / "plots");
  put(old / "plots" / "loss.png");
  std::vector<std::string> said = keepOne();
  EXPECT_EQ(said, std::vector<std::string>{"old checkpoint '" + old.string() +
                                           "' is kept: npar did not write 'model/mine.npar' and 2 more in it"});
  EXPECT_EQ(names(old), (std::vector<std::string>{"model", "notes.txt", "plots"}));
  EXPECT_EQ(names(old / "model"), std::vector<std::string>{"mine.npar"});
  EXPECT_TRUE(fs::exists(old / "plots" / "loss.png"));
  EXPECT_EQ(committedCheckpoints(run.string())->size(), 1u) << "what is left is no checkpoint";
}

TEST_F(OwnFilesTest, aFolderThatOnlyHasTheNameIsNoCheckpoint) {
  write(5);
  fs::create_directories(run / "step-1");
  put(run / "step-1" / "thesis.tex");
  EXPECT_TRUE(keepOne().empty());
  EXPECT_TRUE(fs::exists(run / "step-1" / "thesis.tex"));
  EXPECT_EQ(committedCheckpoints(run.string())->size(), 1u);
}

TEST_F(OwnFilesTest, aManifestThatIsDamagedNamesNothing) {
  fs::path old = write(1);
  write(2);
  fs::resize_file(old / "manifest.json", 100);
  std::vector<std::string> said = keepOne(2);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("'" + old.string() + "' stays: neither a manifest.json nor an unfinished.txt"), std::string::npos) << said[0];
  EXPECT_TRUE(fs::exists(old / "rank-00000.safetensors"));
}

TEST_F(OwnFilesTest, aHalfWrittenCheckpointGoesWithItsOwnFiles) {
  fs::path half = run / "step-7.partial-1-ab";
  fs::create_directories(half / "model");
  put(half / UnfinishedMark::fileName, UnfinishedMark::text({"rank-00000.safetensors", "rank-00001.safetensors", "model/m.npar"}));
  put(half / "rank-00000.safetensors"), put(half / "rank-00001.safetensors.123-0"), put(half / "model" / "m.npar");
  EXPECT_TRUE(open().empty());
  EXPECT_TRUE(names(run).empty());
}

TEST_F(OwnFilesTest, aFolderThatOnlyLooksHalfWrittenStays) {
  fs::path other = run / "step-7.partial-mine", link = run / "step-8.partial-1-ab", cut = run / "step-9.partial-1-ab";
  fs::create_directories(other), fs::create_directories(cut);
  put(other / "rank-00000.safetensors");
  fs::create_directory_symlink(top / "elsewhere", link);
  std::string mark = UnfinishedMark::text({"rank-00000.safetensors"});
  put(cut / UnfinishedMark::fileName, mark.substr(0, mark.size() - 3)), put(cut / "rank-00000.safetensors");
  fs::path begun = run / "step-6.partial-1-ab", empty = run / "step-5.partial-1-ab";
  fs::create_directories(begun), fs::create_directories(empty);
  put(begun / UnfinishedMark::fileName, mark.substr(0, 20)); // as a full disk leaves it
  EXPECT_EQ(open().size(), 3u);
  EXPECT_FALSE(fs::exists(begun) || fs::exists(empty));
  EXPECT_TRUE(fs::exists(other / "rank-00000.safetensors") && fs::exists(cut / "rank-00000.safetensors"));
  EXPECT_TRUE(fs::is_symlink(link) && fs::exists(top / "elsewhere" / "precious.txt"));
}

TEST_F(OwnFilesTest, aMarkIsNotTrusted) {
  EXPECT_EQ(*UnfinishedMark::files(UnfinishedMark::text({"a", "model/b"})), (std::vector<std::string>{"a", "model/b"}));
  for (const char *name : {"../precious.txt", "/etc/passwd", "a/b", "model/../x", ".hidden", "", "model", "model/", "model/a/b"})
    EXPECT_FALSE(UnfinishedMark::files(UnfinishedMark::text({name})).ok()) << name;
  EXPECT_FALSE(UnfinishedMark::files("").ok());
}

TEST_F(OwnFilesTest, aNewCheckpointMovesWhatHasItsNameAside) {
  fs::path damaged = write(4);
  fs::remove(damaged / "manifest.json");
  put(damaged / "notes.txt");
  std::vector<std::string> remarks;
  {
    Result<CheckpointFolder> folder = CheckpointFolder::open(run.string(), remarks);
    ASSERT_TRUE(folder.ok());
    for (int i = 0; i < 2; ++i) {
      std::string partial = CheckpointFolder::partialName(run.string(), 4, "tag");
      ASSERT_TRUE(folder->begin(partial, {}).ok());
      Manifest manifest;
      manifest.step = 4, manifest.modelHash = manifest.planHash = std::string(32, '0');
      Status status = folder->commit(partial, manifest, {}, remarks);
      ASSERT_TRUE(status.ok()) << status.message(); // of two equal manifests one may have damaged shards: the new one counts
    }
  }
  ASSERT_EQ(remarks.size(), 2u);
  EXPECT_NE(remarks[0].find("it is 'step-4.aside' now"), std::string::npos) << remarks[0];
  EXPECT_EQ(names(run), (std::vector<std::string>{"step-4", "step-4.aside", "step-4.aside-2"}));
  EXPECT_EQ(names(run / "step-4"), std::vector<std::string>{"manifest.json"});
  EXPECT_TRUE(fs::exists(run / "step-4.aside" / "notes.txt") && fs::exists(run / "step-4.aside" / "rank-00000.safetensors"));
}

} // namespace
} // namespace npar::testing
