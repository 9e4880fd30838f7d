// Memory in files: any bytes at any offset come back, from several threads; no file has a name; what a disk lacks is refused with numbers.
#include "engine/backends/cpu/FileMemory.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <dirent.h>
#include <random>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace npar::engine;
using testing::HasSubstr;

namespace {

class FileMemoryTest : public testing::Test {
protected:
  FileMemoryTest() { EXPECT_TRUE(::mkdtemp(folder)); }
  ~FileMemoryTest() override { ::rmdir(folder); }

  DeviceAddress allocate(uint64_t bytes) {
    Result<DeviceAddress> made = memory.allocate(folder, bytes);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *made : DeviceAddress();
  }

  size_t filesInFolder() const {
    size_t count = 0;
    DIR *open = ::opendir(folder);
    while (::readdir(open))
      ++count;
    ::closedir(open);
    return count - 2; // without . and ..
  }

  char folder[32] = "/tmp/npar-file-memory-XXXXXX";
  FileMemory memory;
};

TEST_F(FileMemoryTest, IsZeroAtFirstAndKeepsWhatIsWrittenAnywhere) {
  constexpr uint64_t bytes = (3 << 20) + 777;
  DeviceAddress area = allocate(bytes);
  std::vector<uint8_t> expected(bytes), found(bytes, 1);
  memory.read(found.data(), area, bytes);
  EXPECT_EQ(found, expected);
  std::mt19937_64 random(7);
  for (int time = 0; time < 60; ++time) {
    const uint64_t offset = random() % bytes, count = std::min(bytes - offset, 1 + random() % (time % 2 ? 9000 : 2 << 20));
    std::vector<uint8_t> part(count);
    for (uint8_t &byte : part)
      byte = static_cast<uint8_t>(random());
    memory.write(area + offset, part.data(), count);
    std::copy(part.begin(), part.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
    std::vector<uint8_t> back(count);
    memory.read(back.data(), area + offset, count);
    ASSERT_EQ(back, part) << "at " << offset;
  }
  memory.zero(area + 5000, 100000);
  std::fill_n(expected.begin() + 5000, 100000, uint8_t(0));
  memory.read(found.data(), area, bytes);
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(memory.intact().ok());
  EXPECT_EQ(filesInFolder(), 0u);
}

TEST_F(FileMemoryTest, WritesOfThreadsInOneBlockAreAllKept) {
  constexpr uint64_t each = 1000, threads = 8;
  DeviceAddress area = allocate(each * threads);
  std::vector<std::thread> writers;
  for (uint64_t thread = 0; thread < threads; ++thread)
    writers.emplace_back([&, thread] {
      const std::vector<uint8_t> own(each, static_cast<uint8_t>(thread + 1));
      for (int time = 0; time < 20; ++time)
        memory.write(area + thread * each, own.data(), each);
    });
  for (std::thread &writer : writers)
    writer.join();
  std::vector<uint8_t> found(each * threads);
  memory.read(found.data(), area, found.size());
  for (uint64_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i], i / each + 1) << "byte " << i;
}

TEST_F(FileMemoryTest, KnowsItsAddresses) {
  DeviceAddress first = allocate(5000), second = allocate(10);
  int own = 0;
  EXPECT_TRUE(memory.holds(first + 4999));
  EXPECT_FALSE(memory.holds(first + 5000));
  EXPECT_FALSE(memory.holds(DeviceAddress(&own)));
  memory.release(first);
  EXPECT_FALSE(memory.holds(first));
  EXPECT_TRUE(memory.holds(second + 9));
}

TEST_F(FileMemoryTest, WhatCannotBeAllocatedIsRefused) {
  Result<DeviceAddress> missing = memory.allocate(std::string(folder) + "/no", 10);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.status().message(), HasSubstr("No such file or directory"));
  Result<DeviceAddress> large = memory.allocate(folder, uint64_t(1) << 50);
  ASSERT_FALSE(large.ok());
  EXPECT_THAT(large.status().message(), HasSubstr("cannot take 1.00 PiB (1125899906842624 bytes) in folder '"));
  EXPECT_THAT(large.status().message(), HasSubstr("are free"));
  EXPECT_EQ(filesInFolder(), 0u);
}

} // namespace
