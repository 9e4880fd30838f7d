// Tests attention with rows that see nothing, and with huge, tiny or infinite scores, on every instruction set of the processor.
#include "tests/engine/attention/AttentionProblem.h"

namespace npar::testing {
namespace {

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

// Denormal operands count as zero in bf16 products: first queries, whose products with keys would otherwise be up to 1; then keys,
// gradients, values.
template <class In> void checkDenormals(ProductType type) {
  using Tiny = Problem<In, float>;
  for (auto tiny : {&Tiny::q, &Tiny::k, &Tiny::dout}) {
    std::mt19937 random(13);
    Tiny problem(sizes(type, 20, 40, 4, 4), random, false);
    auto large = tiny == &Tiny::q ? &Tiny::k : tiny == &Tiny::k ? &Tiny::q : &Tiny::v;
    for (In &value : problem.*tiny)
      value = In(float(value) * 2e-39f);
    for (In &value : problem.*large)
      value = In(float(value) * 1e38f);
    problem.checkAgainstDefinition();
  }
}

TEST(AttentionTest, denormalOperandsCountAsZero) {
  checkDenormals<BFloat16>(ProductType::BF16);
  checkDenormals<PairedBFloat16>(ProductType::BF16Pairs);
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
