// Reading a result returns the logical tensor, however the ranks keep it: split, padded, in zigzag order, on one of several copies.
#include "engine/runtime/Results.h"
#include "engine/backends/cpu/CpuBackend.h"
#include "tests/engine/runtime/ProgramBuilder.h"

#include <cstring>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

/// Mesh dp, cp, copies; "losses" over [batch, seq] in two micro-batches: batch over dp, seq over cp, the third axis replicates.
class Kept {
public:
  static constexpr int64_t batch = 8, micros = 2;

  Kept(uint32_t dp, uint32_t cp, int64_t sequence, uint32_t zigzag = 0)
      : sequence(sequence), rows(batch / micros / dp), columns((sequence + cp - 1) / cp) {
    ProgramBuilder b({{"dp", dp}, {"cp", cp}, {"copies", 2}});
    b.program.kind = program::ProgramKind::Evaluation;
    b.program.batch = batch, b.program.micro_count = micros, b.program.micro = rows, b.program.data_axes = {0};
    ClassBuilder &c = b.rankClass("all", {});
    Span tokens = c.perMicro("tokens", static_cast<uint64_t>(rows * columns) * 4);
    program::InputT &input = c.input("tokens", tokens, {rows * dp, sequence}, {rows, columns}, {{0}, {1}});
    input.zigzag[1] = zigzag;
    Span losses = c.perMicro("result", static_cast<uint64_t>(rows * columns) * 4);
    b.program.results.push_back(std::make_unique<program::LogicalResultT>());
    b.program.results[0]->name = "losses", b.program.results[0]->axes = {"batch", "seq"}, b.program.results[0]->shape = {batch, sequence};
    program::RankClassT &rankClass = *b.program.classes[0];
    rankClass.results.push_back(std::make_unique<program::ResultBufferT>());
    program::ResultBufferT &buffer = *rankClass.results[0];
    buffer.region = losses.region, buffer.offset = losses.offset;
    buffer.dimensions = input.dimensions, buffer.mesh_axes = input.mesh_axes, buffer.zigzag = input.zigzag;
    loaded = b.load();
    world = dp * cp * 2;
  }

  /// Fills the arenas as a step would: each element of a buffer holds 100 sample + position, and elements that must not be read hold -1.
  void fill() {
    const program::RankClass &rankClass = *loaded->root().classes()->Get(0);
    const program::ResultBuffer &buffer = *rankClass.results()->Get(0);
    const program::Region &region = *rankClass.regions()->Get(buffer.region());
    uint32_t cp = loaded->root().mesh()->Get(1)->size(), dp = loaded->root().mesh()->Get(0)->size();
    for (uint32_t rank = 0; rank < world; ++rank) {
      arenas.emplace_back(rankClass.arena_bytes());
      ranks.push_back({rank, DeviceAddress()});
      uint32_t copy = rank % 2, part = rank / 2 % cp, data = rank / 2 / cp;
      for (int64_t micro = 0; micro < micros; ++micro)
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t column = 0; column < columns; ++column) {
            int64_t place = part * columns + column, position = positionAt(place, buffer.zigzag()->Get(1));
            float value = copy || place >= sequence ? -1.0f : static_cast<float>(100 * ((micro * dp + data) * rows + row) + position);
            std::memcpy(&arenas[rank][region.offset() + static_cast<uint64_t>(micro) * region.bytes() + buffer.offset() +
                                      static_cast<uint64_t>(row * columns + column) * 4],
                        &value, 4);
          }
    }
    for (uint32_t rank = 0; rank < world; ++rank)
      ranks[rank].arena = DeviceAddress(arenas[rank].data());
  }

  engine::Result<std::vector<double>> read(uint64_t first, uint64_t count, const std::string &name = "losses") {
    CpuBackend backend(Spread{});
    return Results(loaded->root(), ranks, backend, nullptr).read(name, first, count);
  }

  /// The same with the ranks dealt out to two sessions, as each of them reads it.
  std::vector<std::vector<double>> readInSessions(uint64_t first, uint64_t count) {
    CpuBackend backend(Spread{});
    std::vector<LocalRank> own[2];
    for (const LocalRank &rank : ranks)
      own[rank.rank % 3 != 0].push_back(rank);
    std::vector<std::vector<uint8_t>> given;
    for (const auto &some : own) {
      auto take = [&](const std::vector<uint8_t> &bytes) {
        given.push_back(bytes);
        return engine::Result<std::vector<std::vector<uint8_t>>>(Status(Code::Internal, "only asked for what it gives"));
      };
      EXPECT_FALSE(Results(loaded->root(), some, backend, take).read("losses", first, count).ok());
    }
    std::vector<std::vector<double>> found;
    for (const auto &some : own) {
      auto all = [&](const std::vector<uint8_t> &) { return engine::Result<std::vector<std::vector<uint8_t>>>(given); };
      engine::Result<std::vector<double>> values = Results(loaded->root(), some, backend, all).read("losses", first, count);
      EXPECT_TRUE(values.ok()) << values.status().message();
      found.push_back(values.ok() ? *values : std::vector<double>());
    }
    return found;
  }

  void expectWhole() {
    engine::Result<std::vector<double>> values = read(0, static_cast<uint64_t>(batch * sequence));
    ASSERT_TRUE(values.ok()) << values.status().message();
    for (int64_t i = 0; i < batch * sequence; ++i)
      EXPECT_EQ((*values)[static_cast<size_t>(i)], 100.0 * static_cast<double>(i / sequence) + static_cast<double>(i % sequence)) << i;
  }

private:
  /// In zigzag order place 2i of the chunks holds chunk i, and 2i + 1 the i-th from the end (Program.fbs).
  int64_t positionAt(int64_t place, uint32_t zigzag) const {
    if (zigzag == 0)
      return place;
    int64_t chunk = sequence / (2 * zigzag), slot = place / chunk;
    return (slot % 2 ? 2 * zigzag - 1 - slot / 2 : slot / 2) * chunk + place % chunk;
  }

  int64_t sequence, rows, columns;
  uint32_t world = 0;
  std::shared_ptr<const program::LoadedProgram> loaded;
  std::vector<std::vector<uint8_t>> arenas;
  std::vector<LocalRank> ranks;
};

TEST(ResultsTest, areTheLogicalTensorHoweverTheyAreKept) {
  for (auto [dp, cp, sequence, zigzag] : {std::tuple(1u, 1u, 8, 0u), std::tuple(4u, 1u, 8, 0u), std::tuple(2u, 2u, 8, 0u),
                                          std::tuple(2u, 2u, 7, 0u), std::tuple(1u, 4u, 6, 0u), std::tuple(2u, 2u, 8, 2u)}) {
    Kept kept(dp, cp, sequence, zigzag);
    kept.fill();
    kept.expectWhole();
  }
}

// A part is read alone, across samples and pieces.
TEST(ResultsTest, areReadInParts) {
  Kept kept(2, 2, 7);
  kept.fill();
  engine::Result<std::vector<double>> values = kept.read(5, 4);
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(*values, (std::vector<double>{5, 6, 100, 101}));
  EXPECT_EQ(kept.read(56, 0)->size(), 0u);
  EXPECT_EQ(kept.read(50, 7).status().message(), "result 'losses' has 56 elements; 7 from 50 on were asked for");
  EXPECT_EQ(kept.read(0, 1, "logits").status().message(), "the program has no result 'logits'");
}

// Every session gets the tensor from what all of them give.
TEST(ResultsTest, areTheSameInEverySession) {
  Kept kept(2, 2, 7);
  kept.fill();
  for (auto [first, count] : {std::pair(0, 56), std::pair(5, 4), std::pair(0, 1)}) {
    auto alone = kept.read(static_cast<uint64_t>(first), static_cast<uint64_t>(count));
    ASSERT_TRUE(alone.ok());
    for (const std::vector<double> &found : kept.readInSessions(static_cast<uint64_t>(first), static_cast<uint64_t>(count)))
      EXPECT_EQ(found, *alone);
  }
}

} // namespace
} // namespace npar::testing
