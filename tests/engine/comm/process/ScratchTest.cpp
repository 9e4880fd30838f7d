// Tests the memory through which messages pass: an area, and extra allocations when it is full.
#include "engine/comm/process/Scratch.h"

#include "engine/backends/Backends.h"
#include "tests/engine/device/OffsetBackend.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

// Extra allocations are kept: a device that frees memory in the middle of a run waits for all its work.
TEST(Scratch, WhatIsTakenBesideTheAreaIsUsedAgain) {
  OffsetBackend backend(std::move(*createBackend("cpu", {})), /*queued=*/false);
  Scratch scratch(backend);
  ASSERT_TRUE(scratch.reserve(256).ok());
  ScratchPiece inArea = *scratch.take(256), beside = *scratch.take(1000), other = *scratch.take(1000);
  EXPECT_NE(beside.device, other.device);
  EXPECT_EQ(beside.bytes, 1024u); // in lines of 64
  ScratchPiece first = beside;
  uint8_t *inAreaHost = inArea.host;
  scratch.give(beside);
  ScratchPiece again = *scratch.take(900); // the area is full, and of the others one is idle
  EXPECT_EQ(again.device, first.device);
  EXPECT_EQ(again.host, first.host);
  scratch.give(inArea), scratch.give(again), scratch.give(other);
  EXPECT_EQ(scratch.most(), 256u + 2 * 1024);
  EXPECT_EQ(scratch.take(64)->host, inAreaHost); // from the area again
  EXPECT_EQ(backend.releases, 0u);
}

} // namespace
} // namespace npar::testing
