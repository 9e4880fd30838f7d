// Tests the limits on memory, read from tables as the kernel writes them.
#include "engine/runtime/MachineMemory.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace npar::engine {
namespace {

namespace fs = std::filesystem;

class MachineMemoryTest : public ::testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/npar-memory-XXXXXX";
    root = mkdtemp(pattern);
    write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    4000 kB\nSwapFree:        1000 kB\n");
  }
  void TearDown() override { fs::remove_all(root); }
  void write(const std::string &path, const std::string &text) {
    fs::create_directories((fs::path(root) / path).parent_path());
    std::ofstream(fs::path(root) / path) << text;
  }
  std::string root;
};

TEST_F(MachineMemoryTest, freeMemoryAndSwap) {
  MachineMemory memory = machineMemory(root);
  EXPECT_EQ(memory.bytes, 5000u * 1024);
  EXPECT_EQ(memory.limit, "the machine's free memory");
}

TEST_F(MachineMemoryTest, aGroupOfTheSecondVersionOrOneAboveIt) {
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/memory.max", "1000000\n");
  write("sys/fs/cgroup/job/memory.current", "700000\n");
  write("sys/fs/cgroup/job/memory.stat", "anon 400000\ninactive_file 200000\nactive_file 100000\n");
  MachineMemory memory = machineMemory(root);
  EXPECT_EQ(memory.bytes, 500000u) << "unused files are dropped when memory is asked for";
  EXPECT_EQ(memory.limit, "the memory limit of control group '/job'");
}

TEST_F(MachineMemoryTest, aGroupOfTheFirstVersion) {
  write("proc/self/cgroup", "8:pids:/\n4:cpu,memory:/box\n");
  write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "3000\n");
  write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "5000\n");
  EXPECT_EQ(machineMemory(root).bytes, 0u) << "more is used than may be";
  write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n"); // how it says "none"
  EXPECT_EQ(machineMemory(root).limit, "the machine's free memory");
}

TEST_F(MachineMemoryTest, thePathOfAContainersHostEndsAtTheRoot) {
  write("proc/self/cgroup", "0::/docker/0123/init\n");
  write("sys/fs/cgroup/memory.max", "2000\n");
  EXPECT_EQ(machineMemory(root).bytes, 2000u);
}

TEST_F(MachineMemoryTest, nothingKnownLimitsNothing) {
  fs::remove(fs::path(root) / "proc/meminfo");
  EXPECT_EQ(machineMemory(root).bytes, UINT64_MAX);
}

} // namespace
} // namespace npar::engine
