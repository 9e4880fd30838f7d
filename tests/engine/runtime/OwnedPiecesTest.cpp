// Ranks together own every element of a variable exactly once, whether it is split, padded or divided into flat shares.
#include "engine/program/OwnedPieces.h"
#include "engine/program/Pieces.h"
#include "engine/program/Ranks.h"
#include "engine/runtime/PieceRuns.h"
#include "tests/engine/runtime/ProgramBuilder.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

namespace npar::testing {
namespace {

using namespace engine;
using program::VariableKind;

/// A variable of `global` sizes on a mesh of a = 2, b = 3, kept as the piece says. The program is not run: it holds no step.
struct KeptPiece {
  std::vector<int64_t> global, local;
  std::vector<std::vector<uint32_t>> axes; ///< by dimension, that split it
  std::vector<uint32_t> flat;
};

/// The logical elements of each owned piece, one list per rank, in the order in which the rank keeps them.
std::vector<std::vector<uint64_t>> elementsOf(const KeptPiece &kept) {
  ProgramBuilder builder({{"a", 2}, {"b", 3}});
  uint32_t variable = builder.variable("w", VariableKind::Parameter, program::ElementType::F32, kept.global);
  ClassBuilder &rankClass = builder.rankClass("all", {});
  Span memory = rankClass.fixed(1 << 16);
  rankClass.piece(variable, memory, kept.global, kept.local, kept.axes);
  builder.program.classes[0]->pieces[0]->flat_axes = kept.flat;
  flatbuffers::FlatBufferBuilder buffer;
  buffer.Finish(program::Program::Pack(buffer, &builder.program));
  const auto &program = *flatbuffers::GetRoot<program::Program>(buffer.GetBufferPointer());
  std::vector<std::vector<uint64_t>> ranks(6);
  for (const program::OwnedPiece &piece : program::ownedPieces(program, {0, 1, 2, 3, 4, 5})) {
    for (uint64_t place = piece.begin; place < piece.end; ++place) {
      uint64_t rest = place, element = 0, stride = 1;
      for (size_t d = piece.shape.size(); d-- > 0;) {
        element += (static_cast<uint64_t>(piece.start[d]) + rest % static_cast<uint64_t>(piece.shape[d])) * stride;
        rest /= static_cast<uint64_t>(piece.shape[d]), stride *= static_cast<uint64_t>(kept.global[d]);
      }
      ranks[static_cast<size_t>(piece.rank)].push_back(element);
    }
  }
  return ranks;
}

void expectAllOnce(const KeptPiece &kept) {
  std::vector<uint64_t> all;
  for (const std::vector<uint64_t> &rank : elementsOf(kept))
    all.insert(all.end(), rank.begin(), rank.end());
  std::sort(all.begin(), all.end());
  std::vector<uint64_t> expected(
      static_cast<size_t>(std::accumulate(kept.global.begin(), kept.global.end(), int64_t{1}, std::multiplies<int64_t>())));
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

TEST(OwnedPieces, EveryElementIsOwnedOnce) {
  expectAllOnce({{5, 4}, {5, 4}, {{}, {}}, {}});                   // replicated
  expectAllOnce({{6, 4}, {2, 4}, {{1}, {}}, {}});                  // split over b, replicated over a
  expectAllOnce({{7, 5}, {3, 3}, {{1}, {0}}, {}});                 // both dimensions padded
  expectAllOnce({{3, 2}, {1, 2}, {{0, 1}, {}}, {}});               // six parts of three: some ranks have padding alone
  expectAllOnce({{}, {}, {}, {}});                                 // a scalar
  expectAllOnce({{50, 100}, {50, 100}, {{}, {}}, {0}});            // flat shares
  expectAllOnce({{50, 100}, {50, 100}, {{}, {}}, {0, 1}});         // more ranks than blocks of 1,024
  expectAllOnce({{70, 61}, {24, 61}, {{1}, {}}, {0}});             // the last rectangle is padded at its end, then dealt out
  expectAllOnce({{61, 70}, {61, 24}, {{}, {1}}, {0}});             // every row of the last rectangle is padded
  expectAllOnce({{7, 61, 33}, {7, 31, 11}, {{}, {0}, {1}}, {}});   // three dimensions
  expectAllOnce({{7, 610, 33}, {7, 204, 33}, {{}, {1}, {}}, {0}}); // padding in the middle of shares
}

TEST(OwnedPieces, TheOrderIsThatInWhichARankKeepsThem) {
  KeptPiece kept{{61, 70}, {61, 24}, {{}, {1}}, {0}};
  std::vector<std::vector<uint64_t>> ranks = elementsOf(kept);
  uint64_t share = program::flatShare(61 * 24, 2);
  for (uint64_t rank = 0; rank < 6; ++rank) {
    uint64_t a = rank / 3, b = rank % 3;
    PieceRuns runs({{61, 61, 0}, {70, 24, static_cast<int64_t>(b * 24)}}, a * share, (a + 1) * share);
    std::vector<uint64_t> expected;
    for (uint64_t i = 0; i < runs.size(); ++i)
      for (uint64_t j = 0; j < runs.at(i).count; ++j)
        expected.push_back(runs.at(i).logical + j);
    EXPECT_EQ(ranks[rank], expected) << "rank " << rank;
  }
}

} // namespace
} // namespace npar::testing
