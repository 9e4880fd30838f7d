// Scratch memory that detects reads of bytes not yet written, and writes past its end.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace npar::testing {

/// Memory of exactly the requested size: NaN before it is used, with a guard after it.
class GuardedScratch {
public:
  explicit GuardedScratch(uint64_t bytes) : bytes(bytes), memory(static_cast<char *>(std::aligned_alloc(64, (bytes + 127) / 64 * 64))) {
    std::memset(memory, 0xff, bytes);
    std::memset(memory + bytes, 0x5a, 64);
  }
  ~GuardedScratch() {
    EXPECT_EQ(std::count(memory + bytes, memory + bytes + 64, 0x5a), 64) << "scratch overrun";
    std::free(memory);
  }
  void *get() { return memory; }

private:
  uint64_t bytes;
  char *memory;
};

} // namespace npar::testing
