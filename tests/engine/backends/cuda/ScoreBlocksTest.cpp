// Blocks of scores are listed band by band, without those that no query sees, in parts of a limited size.
#include "engine/backends/cuda/program/ScoreBlocks.h"

#include <gtest/gtest.h>

namespace npar::engine::cuda {
namespace {

constexpr int64_t far = int64_t{1} << 62;

TEST(ScoreBlocks, LeaveOutWhatNobodySees) {
  ScoreBlocks all = scoreBlocks({{0, 600, 0}}, {{0, 600, 0}}, {true, false, far, 0}, false, true, 1000);
  ASSERT_EQ(all.bands.size(), 19u); // 600 queries
  int64_t blocks = 0;
  for (const ScoreBand &band : all.bands) {
    EXPECT_EQ(band.first, blocks);
    EXPECT_EQ(band.blocks, band.position / 256 + 1); // blocks of keys up to the last query
    blocks += band.blocks;
  }
  EXPECT_EQ(all.bands.back().count, 600 - 18 * 32);
  ScoreBlocks narrow = scoreBlocks({{0, 600, 0}}, {{0, 600, 0}}, {true, false, 10, 0}, true, false, 1000);
  for (const ScoreBlock &block : narrow.blocks) { // 32 keys and some of the 256 queries see each other
    EXPECT_LE(block.rowPosition, block.columnPosition + block.columns - 1);
    EXPECT_GE(block.rowPosition + block.rows - 1, block.columnPosition - 10);
  }
  EXPECT_EQ(narrow.bands.size(), 19u);
  EXPECT_EQ(narrow.blocks.size(), 21u); // two bands of keys are seen by two blocks of queries
  EXPECT_EQ(scoreBlocks({{0, 64, 0}}, {{0, 512, 0}}, {true, true, far, far}, false, true, 1000).blocks.size(), 4u);
}

TEST(ScoreBlocks, ComeInParts) {
  ScoreBlocks all = scoreBlocks({{0, 512, 0}}, {{0, 1024, 0}}, {false, false, far, far}, true, true, 40);
  ASSERT_EQ(all.bands.size(), 2u);
  ASSERT_EQ(all.parts.size(), 2u); // 32 blocks of keys each
  EXPECT_EQ(all.parts[1].firstBlock, 32);
  EXPECT_EQ(all.parts[1].firstBand, 1);
  EXPECT_EQ(all.bands[1].first, 0); // of its part
  EXPECT_EQ(scoreBlocks({{0, 512, 0}}, {{0, 1024, 0}}, {false, false, far, far}, true, true, 64).parts.size(), 1u);
  EXPECT_EQ(scoreBlocks({{0, 512, 0}}, {{0, 1024, 0}}, {false, false, far, far}, true, true, 1).parts.size(), 2u); // a band is whole
}

} // namespace
} // namespace npar::engine::cuda
