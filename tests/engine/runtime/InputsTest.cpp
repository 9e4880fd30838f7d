// Which rows and columns of the batch each rank's data buffer gets: split over ranks, padded, in zigzag order.
#include "engine/runtime/Inputs.h"
#include "engine/backends/cpu/CpuBackend.h"
#include "tests/engine/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

struct Shape {
  uint32_t dp = 1, cp = 1;
  int64_t sequence = 8, batch = 1, micros = 1;
  uint32_t zigzag = 0;
  int64_t columns = 0; ///< 0: as many as there are
};

/// What every rank's buffers of `tokens` hold, by rank and micro-batch; value of a place: 100 row + column. Empty when the program is
/// refused.
class Buffers {
public:
  explicit Buffers(const Shape &shape) : shape(shape) {
    ProgramBuilder b({{"dp", shape.dp}, {"cp", shape.cp}});
    b.program.batch = shape.batch, b.program.sequence = shape.sequence, b.program.micro_count = shape.micros;
    b.program.micro = rows = shape.batch / shape.micros / shape.dp;
    b.program.data_axes = {0};
    columns = shape.columns ? shape.columns : (shape.sequence + shape.cp - 1) / shape.cp;
    ClassBuilder &c = b.rankClass("all", {});
    Span span = c.perMicro("tokens", static_cast<uint64_t>(rows * columns) * 4);
    c.input("tokens", span, rows, columns);
    if (shape.cp > 1)
      b.program.classes[0]->inputs[0]->column_axes = {1};
    b.program.classes[0]->inputs[0]->zigzag = shape.zigzag;
    const auto &region = *b.program.classes[0]->regions[span.region];
    offset = region.offset, stride = region.bytes;
    loaded = b.load();
  }

  std::string fill() {
    for (uint32_t rank = 0; rank < shape.dp * shape.cp; ++rank)
      arenas.emplace_back(loaded->root().classes()->Get(0)->arena_bytes(), uint8_t(0xAB));
    std::vector<LocalRank> ranks;
    for (auto &arena : arenas)
      ranks.push_back({static_cast<int64_t>(ranks.size()), DeviceAddress(arena.data())});
    Result<Inputs> inputs = Inputs::create(loaded->root(), ranks);
    if (!inputs.ok())
      return inputs.status().message();
    std::vector<int32_t> batch;
    for (int64_t row = 0; row < shape.batch; ++row)
      for (int64_t column = 0; column < shape.sequence; ++column)
        batch.push_back(static_cast<int32_t>(100 * row + column));
    CpuBackend backend(Spread{});
    return inputs->fill(backend, batch, batch).message();
  }

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

TEST(InputsTest, otherShapesAreRefused) {
  Shape shape;
  shape.cp = 2, shape.columns = 8;
  EXPECT_EQ(Buffers(shape).fill(), "input 'tokens' of class 'all' is 1 x 8, not 1 x 4");
}

} // namespace
} // namespace npar::testing
