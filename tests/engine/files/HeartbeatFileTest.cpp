// Tests locks on file systems without `flock`: holding, taking over, and detecting a loss. Time is simulated.
#include "engine/files/HeartbeatFile.h"
#include "engine/files/Folders.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace npar::program {
namespace {

class HeartbeatFileTest : public ::testing::Test {
protected:
  HeartbeatFileTest() {
    char pattern[] = "/tmp/npar-lock-XXXXXX";
    folder = mkdtemp(pattern), path = folder + "/lock";
  }
  ~HeartbeatFileTest() override { std::filesystem::remove_all(folder); }

  /// Times of a process on another machine, which cannot be checked from here; `meanwhile` is called whenever it sleeps.
  files::HeartbeatTimes far(const std::string &name, std::function<void(double)> meanwhile = nullptr) {
    files::HeartbeatTimes times;
    times.beat = 0;
    times.now = [this] { return seconds; };
    times.sleep = [this, meanwhile](double time) {
      seconds += time;
      if (meanwhile)
        meanwhile(time);
    };
    times.holder = [name] { return "boot-" + name + " pid:[1] 17 23 " + name; };
    return times;
  }
  std::vector<std::string> names() { return *files::namesIn(folder); }

  std::string folder, path;
  double seconds = 0;
};

TEST_F(HeartbeatFileTest, AMovingCounterIsRefusedAtOnce) {
  auto first = files::HeartbeatFile::take(path, "taken", far("a"));
  ASSERT_TRUE(first.ok()) << first.status().message();
  auto second = files::HeartbeatFile::take(path, "taken", far("b", [&](double) { (*first)->beat(); }));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(), "taken (process 17 on 'a')");
  EXPECT_LT(seconds, 2) << "of the 60 that a dead one is given";
  EXPECT_TRUE((*first)->check().ok());
  EXPECT_EQ(names(), std::vector<std::string>{"lock"});
}

TEST_F(HeartbeatFileTest, ACounterThatStandsStillIsTakenOverAndItsHolderFindsOut) {
  auto first = files::HeartbeatFile::take(path, "taken", far("a"));
  auto second = files::HeartbeatFile::take(path, "taken", far("b"));
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_GE(seconds, 60);
  EXPECT_LT(seconds, 63);
  EXPECT_TRUE((*second)->check().ok());
  engine::Status lost = (*first)->check();
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.message(),
            "another run took over '" + path +
                "', because this run did not update its counter for 60 s, or the file was removed: nothing more is written there");
  (*first)->beat(); // changes nothing for the others
  first->reset();   // nor does its end
  EXPECT_TRUE((*second)->check().ok());
  EXPECT_FALSE(files::HeartbeatFile::take(path, "taken", far("c", [&](double) { (*second)->beat(); })).ok());
  second->reset();
  EXPECT_TRUE(names().empty());
}

TEST_F(HeartbeatFileTest, TheLimitIsTheCallers) {
  auto first = files::HeartbeatFile::take(path, "taken", far("a"));
  files::HeartbeatTimes times = far("b");
  times.stale = 0.5;
  EXPECT_TRUE(files::HeartbeatFile::take(path, "taken", times).ok());
  EXPECT_LT(seconds, 1);
}

TEST_F(HeartbeatFileTest, OfTwoThatTakeOverAtOnceOneGetsIt) {
  auto first = files::HeartbeatFile::take(path, "taken", far("a"));
  engine::Result<std::unique_ptr<files::HeartbeatFile>> third = engine::Status();
  bool inside = false;
  auto second = files::HeartbeatFile::take(path, "taken", far("b", [&](double time) {
                                             if (time < 0.5 && !inside) // b has renamed its file into place and waits for a later one
                                               inside = true, third = files::HeartbeatFile::take(path, "taken", far("c"));
                                           }));
  ASSERT_TRUE(third.ok()) << third.status().message();
  EXPECT_FALSE(second.ok());
  EXPECT_TRUE((*third)->check().ok());
  EXPECT_EQ(names(), std::vector<std::string>{"lock"});
}

TEST_F(HeartbeatFileTest, AProcessOfThisMachineThatIsGoneKeepsNobodyWaiting) {
  if (pid_t child = fork(); child == 0) {
    auto held = files::HeartbeatFile::take(path, "taken");
    _exit(held.ok() ? 0 : 1);
  } else {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  ASSERT_EQ(names(), std::vector<std::string>{"lock"});
  files::HeartbeatTimes times;
  times.now = [this] { return seconds; };
  times.sleep = [this](double time) { seconds += time; };
  auto next = files::HeartbeatFile::take(path, "taken", times);
  ASSERT_TRUE(next.ok()) << next.status().message();
  EXPECT_LT(seconds, 1);
  auto third = files::HeartbeatFile::take(path, "taken", times); // this process lives
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.status().message().find("taken (process " + std::to_string(getpid())), 0u);
  EXPECT_LT(seconds, 1);
}

TEST_F(HeartbeatFileTest, ABeatComesByItself) {
  files::HeartbeatTimes times;
  times.beat = 0.001;
  auto held = files::HeartbeatFile::take(path, "taken", times);
  ASSERT_TRUE(held.ok());
  auto text = [&] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::string before = text();
  for (int i = 0; i < 10'000 && text() == before; ++i)
    ::usleep(1000);
  EXPECT_NE(text(), before);
}

TEST_F(HeartbeatFileTest, WhatIsNoLockIsNamedAndNotFollowed) {
  std::string other = folder + "/other";
  std::ofstream(other) << "text";
  ASSERT_EQ(::symlink(other.c_str(), path.c_str()), 0);
  auto link = files::HeartbeatFile::take(path, "taken");
  ASSERT_FALSE(link.ok());
  EXPECT_EQ(link.status().message().find("'" + path + "' is no lock of npar's"), 0u) << link.status().message();
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(files::HeartbeatFile::take(path, "taken").ok());
  ::unlink(path.c_str());
  std::ofstream(path) << std::string(100'000, '\n'); // of no process: the limit of time counts
  EXPECT_TRUE(files::HeartbeatFile::take(path, "taken", far("a")).ok());
  EXPECT_GE(seconds, 60);
  std::ifstream kept(other);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "text");
}

TEST_F(HeartbeatFileTest, AFolderIsLockedByBoth) {
  auto first = files::FolderLock::take(folder, far("a"));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(names(), std::vector<std::string>{files::FolderLock::fileName});
  auto second = files::FolderLock::take(folder, far("b"));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(), "cannot write to '" + folder + "': another run is using it");
  first->reset();
  EXPECT_TRUE(names().empty());
  EXPECT_TRUE(files::FolderLock::take(folder, far("b")).ok());
}

} // namespace
} // namespace npar::program
