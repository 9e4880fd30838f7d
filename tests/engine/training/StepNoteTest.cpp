// Notes survive packing, and the hash of a batch does not depend on which processes read which samples.
#include "engine/training/StepNote.h"

#include <gtest/gtest.h>

namespace npar::training {
namespace {

engine::BatchShape shapeOf(int64_t rows) {
  return {rows, {engine::InputShape{"tokens", program::ElementType::I32, {"batch", "seq"}, {rows, 2}, {}}}};
}

TEST(StepNote, ArrivesAsItWasSent) {
  StepNote note = unpackNote(pack(StepNote{"SIGTERM", {RowHash(3, 5, 7)}}));
  EXPECT_EQ(note.stop, "SIGTERM");
  ASSERT_EQ(note.rows.size(), 1u);
  EXPECT_EQ(note.rows[0].row(), 3);
  EXPECT_EQ(note.rows[0].high(), 7u);
  EXPECT_EQ(unpackNote({}).stop, "");
  EXPECT_EQ(unpackNote({1, 2, 3}).stop, "");
  EXPECT_LE(pack(StepNote()).size(), 16u) << "most steps have nothing to say";
  EXPECT_EQ(unpackNote(pack(StepNote())).stop, "");
}

TEST(StepNote, TheHashOfABatchDoesNotDependOnWhoReadIt) {
  engine::Batch whole = {std::vector<int32_t>{1, 2, 3, 4, 5, 6}}, some = {std::vector<int32_t>{3, 4}},
                others = {std::vector<int32_t>{1, 2, 5, 6}}, changed = {std::vector<int32_t>{1, 2, 5, 7}};
  engine::BatchShape shape = shapeOf(3);
  std::vector<StepNote> one = {{"", hashRows(shape, whole, {0, 1, 2})}};
  std::vector<StepNote> two = {{"", hashRows(shape, some, {1})}, {"", hashRows(shape, others, {0, 2})}};
  EXPECT_EQ(hashOfBatch(one).size(), 32u);
  EXPECT_EQ(hashOfBatch(two), hashOfBatch(one));
  two.push_back({"", hashRows(shape, some, {1})}); // like two ranks that read the same sample
  EXPECT_EQ(hashOfBatch(two), hashOfBatch(one));
  EXPECT_NE(hashOfBatch({{"", hashRows(shape, some, {1})}, {"", hashRows(shape, changed, {0, 2})}}), hashOfBatch(one));
  EXPECT_NE(hashOfBatch({{"", hashRows(shape, some, {0})}, {"", hashRows(shape, others, {1, 2})}}), hashOfBatch(one));
  EXPECT_EQ(hashOfBatch({{}, {}}), "");
}

} // namespace
} // namespace npar::training
