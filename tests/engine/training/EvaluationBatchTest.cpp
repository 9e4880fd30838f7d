// An evaluation chooses its batch from the planned cost of one sample and of four.
#include "engine/training/EvaluationBatch.h"

#include <gtest/gtest.h>

namespace npar::training {
namespace {

/// The cost of a step of `batch` samples: `fixed` + `each` * `batch` seconds, and 1,000 + 100 * `batch` bytes.
StepCost step(int64_t batch, double fixed, double each) {
  return {batch, 1000 + 100 * static_cast<uint64_t>(batch), fixed + each * static_cast<double>(batch)};
}

EvaluationBatch chosen(double fixed, double each, int64_t there, uint64_t room) {
  return chooseBatch(step(1, fixed, each), step(4, fixed, each), there, room);
}

TEST(EvaluationBatch, IsNeverMoreThanTheDataHave) {
  EvaluationBatch batch = chosen(1, 1e-6, 76, 1 << 30);
  EXPECT_EQ(batch.samples, 76);
  EXPECT_EQ(batch.reason, BatchReason::Data);
  EXPECT_EQ(batch.text(76, 1 << 30), "76 samples at a time: all samples");
  EXPECT_EQ(chosen(1, 1e-6, 1, 1 << 30).text(1, 0), "1 sample at a time: all samples");
}

TEST(EvaluationBatch, LeavesAStepsOwnCostATwentieth) {
  EvaluationBatch batch = chosen(0.001, 0.001, 100'000, 1 << 30); // 20 samples: the next power of two
  EXPECT_EQ(batch.samples, 32);
  EXPECT_EQ(batch.reason, BatchReason::Time);
  EXPECT_EQ(batch.text(100'000, 1 << 30), "32 of 100000 samples at a time: more would hardly be faster");
  EXPECT_EQ(chosen(0, 0.001, 100, 1 << 30).samples, 1) << "nothing is gained by more";
}

TEST(EvaluationBatch, KeepsToTheRoom) {
  EvaluationBatch batch = chosen(1, 1e-6, 100'000, 2048); // 1,000 bytes and 10 samples
  EXPECT_EQ(batch.samples, 10);
  EXPECT_EQ(batch.reason, BatchReason::Memory);
  EXPECT_EQ(batch.text(100'000, 2048), "10 of 100000 samples at a time: more would need over 2.00 KiB, a quarter of the free memory");
  EXPECT_EQ(chosen(1, 1e-6, 100'000, 10).samples, 1) << "one sample has to fit";
}

TEST(EvaluationBatch, MakesStepsOfOneSize) {
  EXPECT_EQ(chosen(0.001, 0.001, 33, 1 << 30).samples, 17); // not 32 and 1
  EXPECT_EQ(chosen(0.001, 0.001, 64, 1 << 30).samples, 32);
  EXPECT_EQ(chosen(0.001, 0.001, 0, 1 << 30).samples, 32) << "their number is unknown";
}

TEST(EvaluationBatch, KnowsNoTimes) {
  EXPECT_EQ(chosen(0, 0, 500, 1 << 30).samples, 500);
}

} // namespace
} // namespace npar::training
