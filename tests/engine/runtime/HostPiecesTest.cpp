// Pieces of a variable in the memory of ranks: the owned ones are all of it, each once, however it is split, padded or dealt out.
#include "engine/runtime/HostPieces.h"
#include "engine/program/Pieces.h"
#include "engine/runtime/BorrowedArrays.h"
#include "engine/runtime/Session.h"
#include "tests/engine/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using program::ElementType;
using program::VariableKind;
using Axes = std::vector<uint32_t>;

constexpr int64_t rows = 5, columns = 7;

/// Says how w [5, 7] is kept on a mesh a = 2, b = 3: which axes split its dimensions, and which deal out the rest.
struct Split {
  Axes rows, columns, flat;
};

struct World {
  std::shared_ptr<const program::LoadedProgram> program;
  std::unique_ptr<Session> session;
};

World keep(const Split &split) {
  ProgramBuilder b({{"a", 2}, {"b", 3}});
  uint32_t w = b.variable("w", VariableKind::Parameter, ElementType::F32, {rows, columns});
  ClassBuilder &all = b.rankClass("all", {});
  const int64_t sizes[] = {2, 3};
  auto parts = [&](const Axes &axes) {
    int64_t count = 1;
    for (uint32_t axis : axes)
      count *= sizes[axis];
    return count;
  };
  int64_t m = (rows + parts(split.rows) - 1) / parts(split.rows), n = (columns + parts(split.columns) - 1) / parts(split.columns);
  uint64_t elements = split.flat.empty() ? static_cast<uint64_t>(m * n) : program::flatShare(m * n, parts(split.flat));
  all.piece(w, all.fixed(elements * 4), {rows, columns}, {m, n}, {split.rows, split.columns});
  b.program.classes[0]->pieces[0]->flat_axes = split.flat;
  World world{b.load(), nullptr};
  SessionOptions options;
  options.threads = 1, options.seed = 11;
  auto session = Session::create(world.program, options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  if (session.ok())
    world.session = std::move(*session);
  return world;
}

/// The elements of a piece by their row-major numbers in the variable.
std::vector<std::pair<int64_t, float>> elementsOf(const HostPiece &piece) {
  std::vector<std::pair<int64_t, float>> elements;
  const auto *data = static_cast<const float *>(piece.data);
  if (piece.flat)
    for (int64_t i = 0; i < piece.shape[0]; ++i)
      elements.emplace_back(piece.first + i, data[i * piece.strides[0]]);
  else
    for (int64_t i = 0; i < piece.shape[0]; ++i)
      for (int64_t j = 0; j < piece.shape[1]; ++j)
        elements.emplace_back((piece.start[0] + i) * columns + piece.start[1] + j, data[i * piece.strides[0] + j * piece.strides[1]]);
  return elements;
}

TEST(HostPieces, OwnedPiecesAreAllOfTheVariableOnce) {
  for (const Split &split : std::vector<Split>{{{}, {}, {}},
                                               {{0}, {}, {}},
                                               {{}, {1}, {}},
                                               {{0}, {1}, {}},
                                               {{1, 0}, {}, {}},
                                               {{}, {0, 1}, {}},
                                               {{}, {}, {0}},
                                               {{}, {}, {1, 0}},
                                               {{}, {0}, {1}},
                                               {{1}, {}, {0}}}) {
    World world = keep(split);
    ASSERT_TRUE(world.session);
    std::vector<double> values;
    for (int i = 0; i < rows * columns; ++i)
      values.push_back(i + 0.5);
    Result<std::vector<HostPiece>> pieces = world.session->hostPieces("w");
    ASSERT_TRUE(pieces.ok()) << pieces.status().message();
    ASSERT_TRUE(world.session->write("w", values).ok()); // the pieces see it
    std::vector<int> owned(rows * columns);
    for (const HostPiece &piece : *pieces) {
      EXPECT_EQ(piece.type, ElementType::F32);
      for (auto [number, value] : elementsOf(piece)) {
        ASSERT_LT(number, rows * columns);
        EXPECT_EQ(value, static_cast<float>(number) + 0.5f);
        owned[static_cast<size_t>(number)] += piece.owned;
      }
    }
    EXPECT_EQ(owned, std::vector<int>(rows * columns, 1));
  }
}

TEST(HostPieces, AWholeVariableIsOnePiece) {
  for (const Split &split : std::vector<Split>{{{}, {}, {}}, {{}, {}, {0}}}) { // 35 elements are one share: shares are blocks of 1,024
    World world = keep(split);
    ASSERT_TRUE(world.session);
    Result<HostPiece> whole = wholePiece(*world.session, world.program->root(), "w");
    ASSERT_TRUE(whole.ok()) << whole.status().message();
    EXPECT_EQ(whole->shape, (std::vector<int64_t>{rows, columns}));
    EXPECT_EQ(whole->strides, (std::vector<int64_t>{columns, 1}));
  }
}

TEST(HostPieces, ASplitVariableNamesTheAxesThatSplitIt) {
  World both = keep({{1}, {0}, {}}), one = keep({{}, {1}, {}});
  ASSERT_TRUE(both.session && one.session);
  EXPECT_EQ(wholePiece(*both.session, both.program->root(), "w").status().message(),
            "'w' is not in one piece: the plan splits it over a, b; read its pieces, or copy it");
  EXPECT_EQ(wholePiece(*one.session, one.program->root(), "w").status().message(),
            "'w' is not in one piece: the plan splits it over b; read its pieces, or copy it");
  EXPECT_EQ(wholePiece(*one.session, one.program->root(), "v").status().message(), "the program has no variable 'v'");
}

} // namespace
} // namespace npar::testing
