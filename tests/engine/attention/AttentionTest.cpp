// Compares the bits of attention with its definition, for random shapes, strides, groups, causal offsets and modified scores, on every
// instruction set that the processor has, in parts in any order; and its numbers with the textbook's formulas in float64.
#include "tests/engine/attention/Definition.h"
#include "tests/engine/attention/GuardedScratch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>

namespace npar::testing {
namespace {

using namespace engine;

template <class T> bool sameBits(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Values of [heads, rows, width] as they lie with gaps in `memory`.
template <class To, class T>
void scatter(std::vector<To> &memory, RowStrides strides, const std::vector<T> &values, int64_t rows, int64_t width, bool accumulate) {
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t row = int64_t(i) / width;
    To &to = memory[size_t(row / rows * strides.head + row % rows * strides.row + int64_t(i) % width)];
    to = To(accumulate ? T(values[i] + T(number(to))) : values[i]);
  }
}

/// A function of `Modification` as the engine calls it, whichever way scores lie.
template <class T> struct ModifierOf {
  static void modify(const void *context, const ScoreBlock &b) {
    for (int64_t i = 0; i < b.queries; ++i)
      for (int64_t j = 0; j < b.keys; ++j) {
        T &x = static_cast<T *>(b.scores)[i * b.queryStride + j * b.keyStride];
        x = static_cast<const Modification *>(context)->value(x, b.firstQuery + i, b.firstKey + j, b.head);
      }
  }
  static void differentiate(const void *context, const ScoreBlock &b, void *gradients) {
    for (int64_t i = 0; i < b.queries; ++i)
      for (int64_t j = 0; j < b.keys; ++j) {
        int64_t at = i * b.queryStride + j * b.keyStride;
        static_cast<T *>(gradients)[at] *= static_cast<const Modification *>(context)->derivative(static_cast<const T *>(b.scores)[at]);
      }
  }
  static ScoreModifier of(const Modification &modification) {
    return modification.on ? ScoreModifier{modify, differentiate, &modification} : ScoreModifier{};
  }
};

/// `In` is what lies in memory, `T` what is summed.
template <class In, class T> struct Problem {
  AttentionShape shape;
  Modification modification;
  std::vector<In> q, k, v, dout;

  /// `spread`: of the queries; `valueSpread`: of values and dout.
  Problem(const AttentionShape &sizes, std::mt19937 &random, bool gaps, float spread = 1, float valueSpread = 1) : shape(sizes) {
    auto laidOut = [&](RowStrides &strides, int64_t rows, int64_t width) {
      strides.row = width + (gaps ? random() % 4 : 0);
      strides.head = rows * strides.row + (gaps ? random() % 4 : 0);
    };
    for (RowStrides *strides : {&shape.q, &shape.dq})
      laidOut(*strides, shape.queries, shape.width);
    for (RowStrides *strides : {&shape.out, &shape.dout})
      laidOut(*strides, shape.queries, shape.valueWidth);
    for (RowStrides *strides : {&shape.k, &shape.dk})
      laidOut(*strides, shape.keys, shape.width);
    for (RowStrides *strides : {&shape.v, &shape.dv})
      laidOut(*strides, shape.keys, shape.valueWidth);
    q = filled(size_t(shape.groups * shape.q.head), random, spread), k = filled(size_t(shape.k.head), random, 1);
    v = filled(size_t(shape.v.head), random, valueSpread), dout = filled(size_t(shape.groups * shape.dout.head), random, valueSpread);
  }

  static std::vector<In> filled(size_t count, std::mt19937 &random, float spread) {
    std::normal_distribution<float> normal(0, spread);
    std::vector<In> values(count);
    for (In &value : values)
      value = In(normal(random));
    return values;
  }

  Tensors<In, T> tensors() const { return {shape, q.data(), k.data(), v.data(), dout.data(), modification}; }
  Tensors<In, double> exactTensors() const { return {shape, q.data(), k.data(), v.data(), dout.data(), modification}; }

  struct Forwarded {
    std::vector<In> out;
    std::vector<T> lse;
  };

  void runForward(InstructionSet set, const ForwardOperands &operands, bool threads = false) const {
    Attention attention(shape, set);
    auto run = [&](int part) {
      GuardedScratch scratch(attention.forwardScratch());
      attention.forward(part, operands, scratch.get());
    };
    std::vector<std::thread> running;
    for (int part = attention.forwardParts() - 1; part >= 0; --part)
      if (threads)
        running.emplace_back(run, part);
      else
        run(part);
    for (std::thread &thread : running)
      thread.join();
  }

  Forwarded forward(InstructionSet set, bool threads = false) const {
    Forwarded f{std::vector<In>(size_t(shape.groups * shape.out.head), In(7)), std::vector<T>(size_t(shape.groups * shape.queries))};
    ForwardOperands operands{q.data(), k.data(), v.data(), f.out.data(), f.lse.data()};
    operands.modifier = ModifierOf<T>::of(modification);
    runForward(set, operands, threads);
    return f;
  }

  /// `G`: what gradients are stored as.
  template <class G> struct Backwarded {
    std::vector<G> dq, dk, dv;
    bool operator==(const Backwarded &other) const { return sameBits(dq, other.dq) && sameBits(dk, other.dk) && sameBits(dv, other.dv); }
  };

  template <class G> Backwarded<G> emptyGradients() const {
    return {std::vector<G>(size_t(shape.groups * shape.dq.head), G(3)), std::vector<G>(size_t(shape.dk.head), G(3)),
            std::vector<G>(size_t(shape.dv.head), G(3))};
  }

  template <class G>
  Backwarded<G> backward(InstructionSet set, const Forwarded &f, const std::vector<T> &dot, bool accumulate, bool givesDot) const {
    Backwarded<G> g = emptyGradients<G>();
    BackwardOperands operands{
        q.data(),    k.data(),    v.data(),   givesDot ? nullptr : f.out.data(), givesDot ? dot.data() : nullptr, dout.data(), f.lse.data(),
        g.dq.data(), g.dk.data(), g.dv.data()};
    operands.wide = sizeof(G) != sizeof(In), operands.accumulate = accumulate;
    operands.modifier = ModifierOf<T>::of(modification);
    Attention attention(shape, set);
    GuardedScratch scratch(attention.backwardScratch());
    attention.backward(operands, scratch.get());
    return g;
  }

  std::vector<T> dots(const std::vector<In> &out) const {
    std::vector<T> dots;
    for (int64_t h = 0; h < shape.groups; ++h)
      for (int64_t i = 0; i < shape.queries; ++i)
        dots.push_back(laneSum<T>(shape.valueWidth, [&](int64_t c, T lane) {
          return std::fma(tensors().doutAt(h, i, c), T(number(out[size_t(h * shape.out.head + i * shape.out.row + c)])), lane);
        }));
    return dots;
  }

  template <class G> Backwarded<G> expected(const Gradients<T> &defined, bool accumulate) const {
    Backwarded<G> g = emptyGradients<G>();
    scatter(g.dq, shape.dq, defined.dq, shape.queries, shape.width, accumulate);
    scatter(g.dk, shape.dk, defined.dk, shape.keys, shape.width, accumulate);
    scatter(g.dv, shape.dv, defined.dv, shape.keys, shape.valueWidth, accumulate);
    return g;
  }

  void checkAgainstDefinition() const {
    ::npar::testing::Forward<T> defined = definedForward(tensors(), true);
    Forwarded wanted{std::vector<In>(size_t(shape.groups * shape.out.head), In(7)), {}};
    scatter(wanted.out, shape.out, defined.out, shape.queries, shape.valueWidth, false);
    std::vector<T> dot = dots(wanted.out);
    Gradients<T> gradients;
    for (InstructionSet set : availableInstructionSets()) {
      SCOPED_TRACE(wordOf(set));
      Forwarded found = forward(set);
      ASSERT_TRUE(sameBits(found.out, wanted.out));
      if (wanted.lse.empty()) { // the logarithm is the library's in the definition: not all its bits
        for (size_t i = 0; i < found.lse.size(); ++i)
          if (defined.lse[i] != found.lse[i]) {
            ASSERT_NEAR(found.lse[i], defined.lse[i], std::fabs(defined.lse[i]) * 2 * std::numeric_limits<T>::epsilon() + 1e-15);
          }
        wanted.lse = found.lse;
        gradients = definedBackward(tensors(), wanted.lse, dot);
      }
      ASSERT_TRUE(sameBits(found.lse, wanted.lse));
      ASSERT_TRUE(backward<In>(set, found, dot, false, false) == expected<In>(gradients, false));
      ASSERT_TRUE(backward<T>(set, found, dot, true, true) == expected<T>(gradients, true)) << "accumulated";
    }
  }

  /// The largest difference, relative to the largest number or `largest`.
  template <class Values>
  static double difference(const Values &found, RowStrides strides, const std::vector<double> &wanted, int64_t rows, int64_t width,
                           double largest = 1e-30) {
    double worst = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      int64_t row = int64_t(i) / width;
      double value = number(found[size_t(row / rows * strides.head + row % rows * strides.row + int64_t(i) % width)]);
      worst = std::max(worst, std::isnan(value) ? INFINITY : std::fabs(value - wanted[i]));
      largest = std::max(largest, std::fabs(wanted[i]));
    }
    return worst / largest;
  }

  void checkAgainstTextbook(InstructionSet set, double tolerance) const {
    Textbook exact = textbook(exactTensors());
    Forwarded f = forward(set);
    Backwarded<T> g = backward<T>(set, f, {}, false, false);
    EXPECT_LT(difference(f.out, shape.out, exact.out, shape.queries, shape.valueWidth), tolerance);
    constexpr double least = 1; // a query that sees one key has no gradient
    EXPECT_LT(difference(g.dq, shape.dq, exact.dq, shape.queries, shape.width, least), tolerance);
    EXPECT_LT(difference(g.dk, shape.dk, exact.dk, shape.keys, shape.width, least), tolerance);
    EXPECT_LT(difference(g.dv, shape.dv, exact.dv, shape.keys, shape.valueWidth), tolerance);
    for (size_t i = 0; i < f.lse.size(); ++i)
      if (exact.lse[i] != double(f.lse[i])) { // both minus infinity where nothing is seen
        EXPECT_NEAR(f.lse[i], exact.lse[i], tolerance * (1 + std::fabs(exact.lse[i])));
      }
  }
};

std::string describe(const AttentionShape &s, const Modification &modification) {
  return std::to_string(s.groups) + " x " + std::to_string(s.queries) + " queries of " + std::to_string(s.width) + ", " +
         std::to_string(s.keys) + " keys, values of " + std::to_string(s.valueWidth) +
         (s.causal ? ", causal, queries in " + std::to_string(s.queryRuns.size()) + " runs, keys in " + std::to_string(s.keyRuns.size())
                   : "") +
         (modification.on ? ", modified" : "");
}

AttentionShape sizes(ProductType type, int64_t queries, int64_t keys, int64_t width, int64_t valueWidth, int64_t groups = 1) {
  AttentionShape shape{};
  shape.type = type, shape.queries = queries, shape.keys = keys, shape.width = width, shape.valueWidth = valueWidth, shape.groups = groups;
  shape.scale = 1 / std::sqrt(double(width));
  return shape;
}

/// `rows` rows in up to `most` runs, which lie in another order than they stand in, with gaps of positions between them.
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
    float valueSpread = vanishing ? std::is_same_v<In, BFloat16> ? 3e-38f : 4e-45f : tiny ? 2e-38f : 1;
    Problem<In, T> problem(someShape(type, random, isLong ? 4'000'000 : 1'000'000), random, true, spread, valueSpread);
    problem.modification.on = random() % 3 == 0;
    SCOPED_TRACE(describe(problem.shape, problem.modification) + (tiny ? ", tiny" : ""));
    problem.checkAgainstDefinition();
    if (!tiny)
      problem.checkAgainstTextbook(availableInstructionSets().back(), tolerance);
  }
}

TEST(AttentionTest, float32IsItsDefinition) { checkRandomShapes<float, float>(ProductType::F32, 1e-5); }
TEST(AttentionTest, float64IsItsDefinition) { checkRandomShapes<double, double>(ProductType::F64, 1e-13); }
TEST(AttentionTest, bf16IsItsDefinition) { checkRandomShapes<BFloat16, float>(ProductType::BF16, 0.03); }
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
        ASSERT_TRUE(sameRow(wholeGradients.dq, pieceGradients.dq, all.shape.dq, shape.width));
        ASSERT_EQ(whole.lse[h * shape.queries + first + i], piece.lse[h * count + i]);
      }
  }
}

TEST(AttentionTest, aRowDependsOnNoOtherQuery) {
  for (auto [first, count] : {std::pair<int64_t, int64_t>{0, 1}, {5, 300}, {255, 100}, {399, 1}}) {
    checkSomeQueries<float, float>(ProductType::F32, first, count);
    checkSomeQueries<BFloat16, float>(ProductType::BF16, first, count);
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

// As on a ring: pieces of any size, in any order.
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

// A piece of a sequence that lies in zigzag order: its rows and the keys of all pieces give the bits of the same rows of the whole.
TEST(AttentionTest, rowsInZigzagOrderHaveTheBitsOfTheWhole) {
  constexpr int64_t chunk = 256, chunks = 4, keys = chunk * chunks, width = 8;
  std::mt19937 random(12);
  AttentionShape shape = sizes(ProductType::F32, keys, keys, width, width);
  shape.causal = true;
  Problem<float, float> whole(shape, random, false), piece = whole;
  // Chunks lie as 0, 3, 1, 2; the second piece has the last two.
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

// Query i sees key j where 3 + i >= 10 + j.
TEST(AttentionTest, aRowThatSeesNothingIsZero) {
  std::mt19937 random(8);
  AttentionShape shape = sizes(ProductType::F32, 20, 20, 8, 8);
  shape.causal = true, shape.queryRuns = {{0, 20, 3}}, shape.keyRuns = {{0, 20, 10}};
  Problem<float, float> problem(shape, random, false);
  for (InstructionSet set : availableInstructionSets()) {
    auto f = problem.forward(set);
    auto g = problem.backward<float>(set, f, {}, false, false);
    for (int64_t i = 0; i < shape.queries; ++i) {
      EXPECT_EQ(f.lse[i] == -INFINITY, i < 7) << wordOf(set) << " query " << i;
      for (int64_t c = 0; c < 8; ++c) {
        EXPECT_EQ(f.out[i * 8 + c] == 0, i < 7);
        EXPECT_EQ(g.dq[i * 8 + c] == 0, i < 7);
        EXPECT_EQ(g.dv[i * 8 + c] == 0, i >= 13);
      }
    }
  }
}

// A modifier that masks all.
TEST(AttentionTest, masksOfTheCallerMayLeaveNothing) {
  std::mt19937 random(9);
  Problem<double, double> problem(sizes(ProductType::F64, 9, 300, 8, 5), random, false);
  std::vector<double> out(size_t(problem.shape.out.head), 7), lse(9), dq(9 * 8, 7), dk(300 * 8, 7), dv(300 * 5, 7);
  ScoreModifier all{[](const void *, const ScoreBlock &b) {
                      for (int64_t i = 0; i < b.queries; ++i)
                        for (int64_t j = 0; j < b.keys; ++j)
                          static_cast<double *>(b.scores)[i * b.queryStride + j * b.keyStride] = -INFINITY;
                    },
                    nullptr, nullptr};
  for (InstructionSet set : availableInstructionSets()) {
    ForwardOperands forward{problem.q.data(), problem.k.data(), problem.v.data(), out.data(), lse.data()};
    BackwardOperands backward{problem.q.data(),    problem.k.data(), problem.v.data(), out.data(), nullptr,
                              problem.dout.data(), lse.data(),       dq.data(),        dk.data(),  dv.data()};
    forward.modifier = backward.modifier = all;
    problem.runForward(set, forward);
    Attention attention(problem.shape, set);
    GuardedScratch scratch(attention.backwardScratch());
    attention.backward(backward, scratch.get());
    EXPECT_EQ(std::count(lse.begin(), lse.end(), -INFINITY), 9);
    for (const std::vector<double> *zeros : {&out, &dq, &dk, &dv})
      EXPECT_EQ(std::count(zeros->begin(), zeros->end(), 0.0), int64_t(zeros->size())) << wordOf(set);
  }
}

// Scores of 10,000 and more: exp of their differences neither overflows nor loses the largest.
template <class In, class T> void checkLargeScores(ProductType type, InstructionSet set, double tolerance) {
  std::mt19937 random(10);
  Problem<In, T> problem(sizes(type, 40, 500, 16, 16), random, false, 1e4f);
  const AttentionShape &shape = problem.shape;
  Textbook exact = textbook(problem.exactTensors());
  auto f = problem.forward(set);
  auto g = problem.template backward<T>(set, f, {}, false, false);
  EXPECT_LT(problem.difference(f.out, shape.out, exact.out, shape.queries, shape.valueWidth), tolerance);
  EXPECT_LT(problem.difference(g.dv, shape.dv, exact.dv, shape.keys, shape.valueWidth), tolerance);
  // Nearly all probabilities are 0 or 1, whose gradients are 0: what is left is rounding, times features.
  EXPECT_LT(problem.difference(g.dq, shape.dq, exact.dq, shape.queries, shape.width, 1), tolerance);
  EXPECT_LT(problem.difference(g.dk, shape.dk, exact.dk, shape.keys, shape.width, 1e4), tolerance);
}

TEST(AttentionTest, largeScoresAreStable) {
  for (InstructionSet set : availableInstructionSets()) {
    SCOPED_TRACE(wordOf(set));
    checkLargeScores<float, float>(ProductType::F32, set, 5e-3); // lse, near 1e4, is a float32
    checkLargeScores<double, double>(ProductType::F64, set, 1e-10);
  }
}

// In bf16 products denormal operands count as zero: here queries, whose products with keys would be up to 1 else; then keys, gradients,
// values.
TEST(AttentionTest, denormalOperandsCountAsZero) {
  for (auto tiny : {&Problem<BFloat16, float>::q, &Problem<BFloat16, float>::k, &Problem<BFloat16, float>::dout}) {
    std::mt19937 random(13);
    Problem<BFloat16, float> problem(sizes(ProductType::BF16, 20, 40, 4, 4), random, false);
    auto large = tiny == &Problem<BFloat16, float>::q   ? &Problem<BFloat16, float>::k
                 : tiny == &Problem<BFloat16, float>::k ? &Problem<BFloat16, float>::q
                                                        : &Problem<BFloat16, float>::v;
    for (BFloat16 &value : problem.*tiny)
      value = BFloat16(float(value) * 2e-39f);
    for (BFloat16 &value : problem.*large)
      value = BFloat16(float(value) * 1e38f);
    problem.checkAgainstDefinition();
  }
}

// Infinite scores: minus infinity is a mask; plus infinity has no softmax and gives NaN, in its row alone.
TEST(AttentionTest, infiniteScores) {
  std::mt19937 random(11);
  Problem<float, float> problem(sizes(ProductType::F32, 20, 40, 4, 4), random, false);
  ScoreModifier infinite{[](const void *, const ScoreBlock &b) {
                           for (int64_t i = 0; i < b.queries; ++i)
                             for (int64_t j = 0; j < b.keys; ++j)
                               if (float &x = static_cast<float *>(b.scores)[i * b.queryStride + j * b.keyStride]; b.firstKey + j == 9)
                                 x = b.firstQuery + i == 3 ? INFINITY : -INFINITY;
                         },
                         nullptr, nullptr};
  for (InstructionSet set : availableInstructionSets()) {
    auto f = problem.forward(set);
    ForwardOperands operands{problem.q.data(), problem.k.data(), problem.v.data(), f.out.data(), f.lse.data()};
    operands.modifier = infinite;
    problem.runForward(set, operands);
    for (int64_t i = 0; i < 20; ++i)
      EXPECT_EQ(std::isnan(f.out[i * 4]), i == 3) << wordOf(set) << " query " << i;
  }
}

} // namespace
} // namespace npar::testing
