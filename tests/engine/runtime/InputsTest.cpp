// Tests the rows and columns of the batch in each rank's data buffer: split over ranks, padded, in zigzag order.
#include "engine/runtime/Inputs.h"
#include "engine/backends/cpu/CpuBackend.h"
#include "tests/engine/runtime/ProgramBuilder.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

namespace npar::testing {
namespace {

using namespace engine;

struct Shape {
  uint32_t dp = 1, cp = 1;
  int64_t sequence = 8, batch = 1, micros = 1;
  uint32_t zigzag = 0;
};

/// The contents of every rank's buffers of `tokens`, by rank and micro-batch; the value of an element is 100 row + column. Empty if the
/// program is refused.
class Buffers {
public:
  explicit Buffers(const Shape &shape) : shape(shape) {
    ProgramBuilder b({{"dp", shape.dp}, {"cp", shape.cp}});
    b.program.batch = shape.batch, b.program.micro_count = shape.micros;
    b.program.micro = rows = shape.batch / shape.micros / shape.dp;
    b.program.data_axes = {0};
    columns = (shape.sequence + shape.cp - 1) / shape.cp;
    ClassBuilder &c = b.rankClass("all", {});
    Span span = c.perMicro("tokens", static_cast<uint64_t>(rows * columns) * 4);
    c.input("tokens", span, {rows * shape.dp, shape.sequence}, {rows, columns}, {{0}, {1}}).zigzag[1] = shape.zigzag;
    const auto &region = *b.program.classes[0]->regions[span.region];
    offset = region.offset, stride = region.bytes;
    loaded = b.load();
  }

  std::string fill() {
    std::vector<int64_t> all(static_cast<size_t>(shape.batch));
    std::iota(all.begin(), all.end(), 0);
    return fill(all, {});
  }

  /// Fills the buffers from a batch that holds only these rows; `here`: the ranks of this session, empty for all.
  std::string fill(const std::vector<int64_t> &held, const std::vector<int64_t> &here) {
    for (uint32_t rank = 0; rank < shape.dp * shape.cp; ++rank)
      arenas.emplace_back(loaded->root().classes()->Get(0)->arena_bytes(), uint8_t(0xAB));
    std::vector<LocalRank> ranks;
    for (size_t rank = 0; rank < arenas.size(); ++rank)
      if (here.empty() || std::count(here.begin(), here.end(), static_cast<int64_t>(rank)))
        ranks.push_back({static_cast<int64_t>(rank), DeviceAddress(arenas[rank].data())});
    std::vector<int32_t> batch;
    for (int64_t row : held)
      for (int64_t column = 0; column < shape.sequence; ++column)
        batch.push_back(static_cast<int32_t>(100 * row + column));
    CpuBackend backend(Spread{});
    Inputs inputs(loaded->root(), ranks);
    read = inputs.rows();
    return inputs.fill(backend, {batch}).message();
  }
  std::vector<int64_t> read; ///< Inputs::rows

  std::vector<int32_t> at(uint32_t rank, int64_t micro = 0) const {
    const auto *begin = reinterpret_cast<const int32_t *>(arenas[rank].data() + offset + static_cast<uint64_t>(micro) * stride);
    return {begin, begin + rows * columns};
  }

private:
  Shape shape;
  int64_t rows, columns;
  uint64_t offset, stride;
  std::shared_ptr<const program::LoadedProgram> loaded;
  std::vector<std::vector<uint8_t>> arenas;
};

using Row = std::vector<int32_t>;

TEST(InputsTest, columnsAreCutAsRowsAre) {
  Shape shape;
  shape.dp = 2, shape.cp = 2, shape.batch = 4, shape.micros = 2;
  Buffers buffers(shape);
  ASSERT_EQ(buffers.fill(), "");
  EXPECT_EQ(buffers.at(0, 0), (Row{0, 1, 2, 3}));
  EXPECT_EQ(buffers.at(1, 0), (Row{4, 5, 6, 7}));
  EXPECT_EQ(buffers.at(2, 0), (Row{100, 101, 102, 103}));
  EXPECT_EQ(buffers.at(3, 1), (Row{304, 305, 306, 307}));
}

// Micro-batches of two rows, one for each data-parallel rank: rank 2 (dp 1, cp 0) and rank 3 read rows 1 and 3.
TEST(InputsTest, aBatchMayHoldTheRowsOfTheseRanksAlone) {
  Shape shape;
  shape.dp = 2, shape.cp = 2, shape.batch = 4, shape.micros = 2;
  Buffers whole(shape), some(shape), wrong(shape);
  ASSERT_EQ(whole.fill(), "");
  EXPECT_EQ(whole.read, (std::vector<int64_t>{0, 1, 2, 3}));
  ASSERT_EQ(some.fill({1, 3}, {2, 3}), "");
  EXPECT_EQ(some.read, (std::vector<int64_t>{1, 3}));
  for (uint32_t rank : {2, 3})
    for (int64_t micro : {0, 1})
      EXPECT_EQ(some.at(rank, micro), whole.at(rank, micro));
  EXPECT_EQ(wrong.fill({1, 2, 3}, {2, 3}), "input 'tokens' is 24 values of i32, the program takes 32: i32 [batch 4, a1 8]");
}

TEST(InputsTest, zigzagGivesEachRankAnEarlyAndALateChunk) {
  Shape shape;
  shape.cp = 2, shape.batch = 2, shape.zigzag = 2;
  Buffers buffers(shape);
  ASSERT_EQ(buffers.fill(), "");
  EXPECT_EQ(buffers.at(0), (Row{0, 1, 6, 7, 100, 101, 106, 107}));
  EXPECT_EQ(buffers.at(1), (Row{2, 3, 4, 5, 102, 103, 104, 105}));
}

TEST(InputsTest, zigzagHoldsWhoeverSplitsIt) {
  Shape shape;
  shape.zigzag = 2;
  Buffers whole(shape);
  ASSERT_EQ(whole.fill(), "");
  EXPECT_EQ(whole.at(0), (Row{0, 1, 6, 7, 2, 3, 4, 5}));
  shape.cp = 4;
  Buffers quarters(shape);
  ASSERT_EQ(quarters.fill(), "");
  EXPECT_EQ(quarters.at(1), (Row{6, 7}));
  EXPECT_EQ(quarters.at(3), (Row{4, 5}));
}

TEST(InputsTest, columnsBeyondTheSequenceAreZero) {
  Shape shape;
  shape.cp = 3, shape.sequence = 7;
  Buffers buffers(shape);
  ASSERT_EQ(buffers.fill(), "");
  EXPECT_EQ(buffers.at(1), (Row{3, 4, 5}));
  EXPECT_EQ(buffers.at(2), (Row{6, 0, 0}));
}

/// The buffers of all ranks of a program with one input x over mesh {dp, tp}, one micro-batch; element k of the batch has the value k.
template <typename Kept>
std::vector<std::vector<Kept>> buffersOf(const std::vector<uint32_t> &mesh, const std::vector<int64_t> &global,
                                         const std::vector<int64_t> &local, const std::vector<std::vector<uint32_t>> &axes,
                                         program::ElementType type, program::ElementType kept, const InputValues &values) {
  ProgramBuilder b({{"dp", mesh[0]}, {"tp", mesh[1]}});
  b.program.batch = global[0], b.program.micro = local[0], b.program.data_axes = axes[0];
  size_t elements = 1;
  for (int64_t size : local)
    elements *= static_cast<size_t>(size);
  ClassBuilder &c = b.rankClass("all", {});
  Span span = c.perMicro("input", elements * sizeof(Kept));
  c.input("x", span, global, local, axes, type, kept);
  uint64_t offset = b.program.classes[0]->regions[span.region]->offset;
  auto loaded = b.load();
  std::vector<std::vector<uint8_t>> arenas(mesh[0] * mesh[1], std::vector<uint8_t>(loaded->root().classes()->Get(0)->arena_bytes(), 0xAB));
  std::vector<LocalRank> ranks;
  for (auto &arena : arenas)
    ranks.push_back({static_cast<int64_t>(ranks.size()), DeviceAddress(arena.data())});
  CpuBackend backend(Spread{});
  EXPECT_TRUE(Inputs(loaded->root(), ranks).fill(backend, {values}).ok());
  std::vector<std::vector<Kept>> result;
  for (auto &arena : arenas) {
    const auto *begin = reinterpret_cast<const Kept *>(arena.data() + offset);
    result.emplace_back(begin, begin + elements);
  }
  return result;
}

/// [batch 2, seq 2, feature 5], the samples over dp, the features over tp with one of padding; floats as float64.
TEST(InputsTest, anyDimensionIsCutAndPadded) {
  std::vector<float> values(20);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  auto buffers =
      buffersOf<double>({2, 2}, {2, 2, 5}, {1, 2, 3}, {{0}, {}, {1}}, program::ElementType::F32, program::ElementType::F64, values);
  EXPECT_EQ(buffers[0], (std::vector<double>{0, 1, 2, 5, 6, 7}));
  EXPECT_EQ(buffers[1], (std::vector<double>{3, 4, 0, 8, 9, 0}));
  EXPECT_EQ(buffers[2], (std::vector<double>{10, 11, 12, 15, 16, 17}));
  EXPECT_EQ(buffers[3], (std::vector<double>{13, 14, 0, 18, 19, 0}));
}

/// A dimension in the middle: whole rows of the ones inside of it, and all of them padding on the last rank.
TEST(InputsTest, outerDimensionsCutRowsOfTheInnerOnes) {
  std::vector<float> values(12);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  auto buffers =
      buffersOf<float>({1, 4}, {1, 3, 4}, {1, 1, 4}, {{}, {1}, {}}, program::ElementType::F32, program::ElementType::F32, values);
  EXPECT_EQ(buffers[1], (std::vector<float>{4, 5, 6, 7}));
  EXPECT_EQ(buffers[3], (std::vector<float>{0, 0, 0, 0}));
}

/// Kernels index with 32 bits.
TEST(InputsTest, bytesBecomeIndices) {
  auto buffers = buffersOf<int32_t>({2, 1}, {4}, {2}, {{0}}, program::ElementType::U8, program::ElementType::I32,
                                    std::vector<uint8_t>{0, 7, 200, 255});
  EXPECT_EQ(buffers[0], (std::vector<int32_t>{0, 7}));
  EXPECT_EQ(buffers[1], (std::vector<int32_t>{200, 255}));
}

} // namespace
} // namespace npar::testing
