// Compares the bits of attention with its definition, for random shapes, strides, groups, causal offsets and modified scores, on every
// instruction set of the processor, with parts in any order; and its numbers with the textbook's formulas in float64.
#include "tests/engine/attention/AttentionProblem.h"

#include <cstdlib>

namespace npar::testing {
namespace {

/// `rows` rows in up to `most` runs, whose order in memory differs from that in the sequence, with gaps between positions.
std::vector<PositionRun> someRuns(std::mt19937 &random, int64_t rows, int64_t first, int64_t most) {
  std::vector<PositionRun> runs;
  for (int64_t at = 0, left = 1 + int64_t(random()) % most; at < rows; at += runs.back().count, --left)
    runs.push_back({at, left > 1 ? 1 + int64_t(random()) % (rows - at) : rows - at, 0});
  std::shuffle(runs.begin(), runs.end(), random);
  for (PositionRun &run : runs) {
    run.position = first;
    first += run.count + int64_t(random() % 3 ? random() % 40 : 0);
  }
  return runs;
}

AttentionShape someShape(ProductType type, std::mt19937 &random, int64_t work) {
  auto upTo = [&](int64_t most) { return 1 + int64_t(random()) % most; };
  AttentionShape shape = sizes(type, upTo(random() % 3 ? 80 : 700), upTo(random() % 3 ? 80 : 700), upTo(random() % 2 ? 16 : 80),
                               upTo(random() % 2 ? 16 : 80), random() % 2 ? 1 : upTo(3));
  while (shape.queries * shape.keys * (shape.width + shape.valueWidth) * shape.groups > work)
    if (random() % 2)
      shape.width = (shape.width + 1) / 2, shape.valueWidth = (shape.valueWidth + 1) / 2;
    else
      shape.queries = shape.queries * 2 / 3 + 1;
  shape.causal = random() % 3 != 0;
  int64_t apart = int64_t(random() % 3 ? 40 : 600);
  int64_t most = random() % 2 ? 1 : 4;
  shape.queryRuns = someRuns(random, shape.queries, upTo(apart) - 1, most);
  shape.keyRuns = someRuns(random, shape.keys, upTo(apart) - 1, most);
  return shape;
}

/// Fewer ones unless NPAR_LONG is set.
template <class In, class T> void checkRandomShapes(ProductType type, double tolerance) {
  bool isLong = std::getenv("NPAR_LONG");
  std::mt19937 random(1 + unsigned(type));
  for (int i = 0; i < (isLong ? 200 : 32) && !::testing::Test::HasFailure(); ++i) {
    // Around the smallest normal number, of either sign; or so small that values times probabilities are zeros of either sign.
    bool tiny = i % 4 == 3, vanishing = i % 8 == 7;
    float spread = vanishing ? 3 : tiny ? 1e-4f : 1;
    float valueSpread = vanishing ? std::is_base_of_v<BFloat16, In> ? 3e-38f : 4e-45f : tiny ? 2e-38f : 1;
    Problem<In, T> problem(someShape(type, random, isLong ? 4'000'000 : 1'000'000), random, true, spread, valueSpread);
    problem.modification.on = random() % 3 == 0;
    problem.modification.drops = problem.modification.on && random() % 2 == 0;
    if (problem.modification.on && random() % 2 == 0) {
      problem.modification.window = int64_t(random() % 300) + 1;
      problem.shape.back = problem.shape.ahead = problem.modification.window - 1; // what the engine may leave out
    }
    SCOPED_TRACE(describe(problem.shape, problem.modification) + (tiny ? ", tiny" : ""));
    problem.checkAgainstDefinition();
    if (!tiny)
      problem.checkAgainstTextbook(availableInstructionSets().back(), tolerance);
  }
}

TEST(AttentionTest, float32IsItsDefinition) { checkRandomShapes<float, float>(ProductType::F32, 1e-5); }
TEST(AttentionTest, float64IsItsDefinition) { checkRandomShapes<double, double>(ProductType::F64, 1e-13); }
TEST(AttentionTest, bf16IsItsDefinition) { checkRandomShapes<BFloat16, float>(ProductType::BF16, 0.03); }
TEST(AttentionTest, bf16PairsAreTheirDefinition) { checkRandomShapes<PairedBFloat16, float>(ProductType::BF16Pairs, 0.03); }
TEST(AttentionTest, float16IsItsDefinition) { checkRandomShapes<Float16, float>(ProductType::F16, 4e-3); }

/// Rows [first, first + count) of the queries alone, as another call would be asked for: out, lse and dq.
template <class In, class T> void checkSomeQueries(ProductType type, int64_t first, int64_t count) {
  std::mt19937 random(5);
  AttentionShape shape = sizes(type, 400, 330, 12, 20, 2);
  shape.causal = true, shape.queryRuns = {{0, 400, 30}};
  Problem<In, T> all(shape, random, false), some = all;
  some.shape.queries = count, some.shape.queryRuns = {{0, count, 30 + first}};
  some.q.erase(some.q.begin(), some.q.begin() + first * shape.width);
  some.dout.erase(some.dout.begin(), some.dout.begin() + first * shape.valueWidth);
  for (InstructionSet set : availableInstructionSets()) {
    auto whole = all.forward(set), piece = some.forward(set, true);
    // The same rows as the next ones after keys that were kept.
    Problem<In, T> next = some;
    next.shape.queryRuns = {{0, count, 0}};
    typename Problem<In, T>::Forwarded later = piece;
    std::fill(later.out.begin(), later.out.end(), In(7));
    ForwardOperands operands{next.q.data(), next.k.data(), next.v.data(), later.out.data(), later.lse.data()};
    operands.firstPosition = 30 + first;
    next.runForward(set, operands);
    auto wholeGradients = all.template backward<In>(set, whole, {}, false, false);
    auto pieceGradients = some.template backward<In>(set, piece, {}, false, false);
    for (int64_t h = 0; h < shape.groups; ++h)
      for (int64_t i = 0; i < count; ++i) {
        SCOPED_TRACE(wordOf(set) + " query " + std::to_string(first + i));
        auto sameRow = [&](const std::vector<In> &a, const std::vector<In> &b, RowStrides strides, int64_t width) {
          const In *row = &a[h * strides.head + (first + i) * strides.row], *other = &b[h * strides.head + i * strides.row];
          return std::memcmp(row, other, width * sizeof(In)) == 0;
        };
        ASSERT_TRUE(sameRow(whole.out, piece.out, all.shape.out, shape.valueWidth));
        ASSERT_TRUE(sameRow(whole.out, later.out, all.shape.out, shape.valueWidth));
        ASSERT_EQ(whole.lse[h * shape.queries + first + i], later.lse[h * count + i]);
        ASSERT_TRUE(sameRow(wholeGradients.dq, pieceGradients.dq, all.shape.dq, shape.width));
        ASSERT_EQ(whole.lse[h * shape.queries + first + i], piece.lse[h * count + i]);
      }
  }
}

TEST(AttentionTest, aRowDependsOnNoOtherQuery) {
  for (auto [first, count] : {std::pair<int64_t, int64_t>{0, 1}, {5, 300}, {255, 100}, {399, 1}}) {
    checkSomeQueries<float, float>(ProductType::F32, first, count);
    checkSomeQueries<double, double>(ProductType::F64, first, count);
    checkSomeQueries<Float16, float>(ProductType::F16, first, count);
    checkSomeQueries<BFloat16, float>(ProductType::BF16, first, count);
    checkSomeQueries<PairedBFloat16, float>(ProductType::BF16Pairs, first, count);
  }
}

/// Keys in several calls, cut at `cuts`: forward through a state, backward by accumulation.
template <class In, class T> struct Pieces {
  Problem<In, T> whole;
  std::vector<int64_t> cuts;

  std::vector<Problem<In, T>> problems() const {
    std::vector<Problem<In, T>> pieces;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      Problem<In, T> piece = whole;
      piece.shape.keys = cuts[i + 1] - cuts[i], piece.shape.keyRuns = {{0, piece.shape.keys, cuts[i]}};
      piece.k.erase(piece.k.begin(), piece.k.begin() + cuts[i] * piece.shape.k.row);
      piece.v.erase(piece.v.begin(), piece.v.begin() + cuts[i] * piece.shape.v.row);
      pieces.push_back(piece);
    }
    return pieces;
  }

  typename Problem<In, T>::Forwarded forward(InstructionSet set, const std::vector<Problem<In, T>> &pieces) const {
    int64_t rows = whole.shape.groups * whole.shape.queries;
    std::vector<T> state(rows * (whole.shape.valueWidth + 2), NAN);
    typename Problem<In, T>::Forwarded f{std::vector<In>(size_t(whole.shape.groups * whole.shape.out.head), In(7)), std::vector<T>(rows)};
    for (size_t i = 0; i < pieces.size(); ++i) {
      const Problem<In, T> &piece = pieces[i];
      ForwardOperands operands{piece.q.data(), piece.k.data(), piece.v.data(), f.out.data(), f.lse.data()};
      operands.before = i == 0 ? nullptr : state.data(), operands.after = i + 1 == pieces.size() ? nullptr : state.data();
      piece.runForward(set, operands);
    }
    return f;
  }
};

TEST(AttentionTest, keysInWholeBlocksGiveTheBitsOfOneCall) {
  std::mt19937 random(6);
  AttentionShape shape = sizes(ProductType::F32, 540, 900, 16, 33, 2);
  shape.causal = true, shape.queryRuns = {{0, 540, 100}};
  Pieces<float, float> pieces{Problem<float, float>(shape, random, false), {0, 256, 768, 900}};
  for (InstructionSet set : availableInstructionSets()) {
    auto whole = pieces.whole.forward(set), found = pieces.forward(set, pieces.problems());
    EXPECT_TRUE(sameBits(whole.out, found.out)) << wordOf(set);
    EXPECT_TRUE(sameBits(whole.lse, found.lse)) << wordOf(set);
  }
}

// Keys come in pieces of any size, in any order, as on a ring.
TEST(AttentionTest, keysInAnyPiecesGiveTheSameNumbers) {
  std::mt19937 random(7);
  AttentionShape shape = sizes(ProductType::F32, 300, 300, 16, 20, 2);
  shape.causal = true;
  Pieces<float, float> pieces{Problem<float, float>(shape, random, false), {0, 75, 150, 225, 300}};
  Textbook exact = textbook(pieces.whole.exactTensors());
  for (InstructionSet set : availableInstructionSets()) {
    SCOPED_TRACE(wordOf(set));
    std::vector<Problem<float, float>> problems = pieces.problems();
    std::rotate(problems.begin(), problems.begin() + 2, problems.end());
    auto f = pieces.forward(set, problems);
    using Whole = Problem<float, float>;
    EXPECT_LT(Whole::difference(f.out, shape.out = pieces.whole.shape.out, exact.out, shape.queries, shape.valueWidth), 1e-5);
    std::vector<float> dq(shape.groups * shape.queries * shape.width), dk(shape.keys * shape.width), dv(shape.keys * shape.valueWidth);
    std::vector<float> dot = pieces.whole.dots(f.out);
    for (const Whole &piece : problems) {
      int64_t first = piece.shape.keyRuns[0].position;
      BackwardOperands operands{piece.q.data(),
                                piece.k.data(),
                                piece.v.data(),
                                nullptr,
                                dot.data(),
                                piece.dout.data(),
                                f.lse.data(),
                                dq.data(),
                                &dk[first * shape.width],
                                &dv[first * shape.valueWidth]};
      operands.wide = operands.accumulate = true;
      Attention attention(piece.shape, set);
      GuardedScratch scratch(attention.backwardScratch());
      attention.backward(operands, scratch.get());
    }
    EXPECT_LT(Whole::difference(dq, pieces.whole.shape.dq, exact.dq, shape.queries, shape.width), 1e-5);
    EXPECT_LT(Whole::difference(dk, pieces.whole.shape.dk, exact.dk, shape.keys, shape.width), 1e-5);
    EXPECT_LT(Whole::difference(dv, pieces.whole.shape.dv, exact.dv, shape.keys, shape.valueWidth), 1e-5);
  }
}

// A piece of a sequence in zigzag order: its rows with the keys of all pieces give the bits of the same rows of the whole.
TEST(AttentionTest, rowsInZigzagOrderHaveTheBitsOfTheWhole) {
  constexpr int64_t chunk = 256, chunks = 4, keys = chunk * chunks, width = 8;
  std::mt19937 random(12);
  AttentionShape shape = sizes(ProductType::F32, keys, keys, width, width);
  shape.causal = true;
  Problem<float, float> whole(shape, random, false), piece = whole;
  // Chunks are stored as 0, 3, 1, 2; the second piece has the last two.
  constexpr int64_t order[chunks] = {0, 3, 1, 2};
  for (int64_t slot = 0; slot < chunks; ++slot) {
    std::copy_n(&whole.k[order[slot] * chunk * width], chunk * width, &piece.k[slot * chunk * width]);
    std::copy_n(&whole.v[order[slot] * chunk * width], chunk * width, &piece.v[slot * chunk * width]);
  }
  piece.shape.queries = 2 * chunk;
  piece.shape.queryRuns = {{0, chunk, chunk}, {chunk, chunk, 2 * chunk}};
  piece.shape.keyRuns = {{0, chunk, 0}, {2 * chunk, chunk, chunk}, {3 * chunk, chunk, 2 * chunk}, {chunk, chunk, 3 * chunk}};
  for (auto *rows : {&piece.q, &piece.dout})
    rows->erase(rows->begin(), rows->begin() + chunk * width);
  for (InstructionSet set : availableInstructionSets()) {
    auto all = whole.forward(set), some = piece.forward(set);
    auto gradients = whole.backward<float>(set, all, {}, false, false), own = piece.backward<float>(set, some, {}, false, false);
    constexpr size_t bytes = 2 * chunk * width * sizeof(float);
    EXPECT_EQ(std::memcmp(&all.out[chunk * width], &some.out[0], bytes), 0) << wordOf(set);
    EXPECT_EQ(std::memcmp(&gradients.dq[chunk * width], &own.dq[0], bytes), 0) << wordOf(set);
  }
}

} // namespace
} // namespace npar::testing
