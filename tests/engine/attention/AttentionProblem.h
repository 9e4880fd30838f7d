// Operands of an attention in memory with gaps, and the results of the engine, the definition and the textbook for them.
#pragma once

#include "tests/engine/attention/Definition.h"
#include "tests/engine/attention/GuardedScratch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>

namespace npar::testing {

using namespace engine;

template <class T> bool sameBits(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Stores values of [heads, rows, width] in `memory`, with gaps.
template <class To, class T>
void scatter(std::vector<To> &memory, RowStrides strides, const std::vector<T> &values, int64_t rows, int64_t width, bool accumulate) {
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t row = int64_t(i) / width;
    To &to = memory[size_t(row / rows * strides.head + row % rows * strides.row + int64_t(i) % width)];
    to = To(accumulate ? T(values[i] + T(number(to))) : values[i]);
  }
}

/// Passes a `Modification` to the engine as functions, for both layouts of scores.
template <class T> struct ModifierOf {
  static void modify(const void *context, const ScoreBlock &b) {
    for (int64_t i = 0; i < b.queries; ++i)
      for (int64_t j = 0; j < b.keys; ++j) {
        T &x = static_cast<T *>(b.scores)[i * b.queryStride + j * b.keyStride];
        const auto &modification = *static_cast<const Modification *>(context);
        x = modification.value(x, b.firstQuery + i, b.firstKey + j, b.head);
        if (modification.drops)
          static_cast<T *>(b.factors)[i * b.queryStride + j * b.keyStride] =
              modification.factor<T>(b.firstQuery + i, b.firstKey + j, b.head);
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
    return modification.on ? ScoreModifier{modify, differentiate, &modification, false, modification.drops} : ScoreModifier{};
  }
};

/// `In` is the type in memory, `T` that of sums.
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

inline std::string describe(const AttentionShape &s, const Modification &modification) {
  return std::to_string(s.groups) + " x " + std::to_string(s.queries) + " queries of " + std::to_string(s.width) + ", " +
         std::to_string(s.keys) + " keys, values of " + std::to_string(s.valueWidth) +
         (s.causal ? ", causal, queries in " + std::to_string(s.queryRuns.size()) + " runs, keys in " + std::to_string(s.keyRuns.size())
                   : "") +
         (modification.on ? ", modified" : "") + (modification.drops ? ", dropped" : "") +
         (modification.window < s.queries + s.keys ? ", in a window of " + std::to_string(modification.window) : "");
}

inline AttentionShape sizes(ProductType type, int64_t queries, int64_t keys, int64_t width, int64_t valueWidth, int64_t groups = 1) {
  AttentionShape shape{};
  shape.type = type, shape.queries = queries, shape.keys = keys, shape.width = width, shape.valueWidth = valueWidth, shape.groups = groups;
  shape.scale = 1 / std::sqrt(double(width));
  return shape;
}

} // namespace npar::testing
