// The definition of attention (engine/attention/Attention.h) in plain code, fma by fma, and the textbook's formulas in float64.
#pragma once

#include "engine/attention/Attention.h"
#include "engine/numbers/NarrowFloat.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace npar::testing {

using engine::AttentionShape, engine::PositionRun, engine::RowStrides, engine::BFloat16, engine::Float16;

// --- products (TileKernels.h) ---------------------------------------------------------------------------------------------------------

inline float flushed(float value) { return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value; }

/// fma in float32 with denormals flushed. Near the smallest normal number the rounding decides on tininess as if exponents had no
/// bound: found out 2^64 higher.
inline float flushedFma(float a, float b, float c) {
  constexpr float smallest = std::numeric_limits<float>::min(), up = 18446744073709551616.0f;
  a = flushed(a), b = flushed(b), c = flushed(c);
  float result = std::fma(a, b, c);
  if (std::fabs(result) > smallest || std::isnan(result))
    return result;
  float high = std::fabs(a) > std::fabs(b) ? std::fma(a, b * up, c * up) : std::fma(a * up, b, c * up);
  return std::fabs(high) < smallest * up ? std::copysign(0.0f, result) : result;
}

inline float flushedAdd(float a, float b) { return flushed(flushed(a) + flushed(b)); }

/// A bf16 whose products are BF16Pairs.
struct PairedBFloat16 : BFloat16 {
  using BFloat16::BFloat16;
};

/// Continues `sum` over k of a(k) b(k) as `In` is multiplied.
template <class In, class T, class A, class B> T productOver(int64_t k, const A &a, const B &b, T sum = 0) {
  if constexpr (std::is_same_v<In, BFloat16>) {
    for (int64_t group = 0; group < k; group += 32) {
      float half[2] = {0, 0};
      for (int64_t i = group; i < group + 32; ++i)
        half[i & 1] = flushedFma(i < k ? a(i) : 0, i < k ? b(i) : 0, half[i & 1]);
      sum = flushedAdd(sum, flushedAdd(half[0], half[1]));
    }
  } else if constexpr (std::is_same_v<In, PairedBFloat16>) {
    for (int64_t even = 0; even < k; even += 2) {
      sum = even + 1 < k ? flushedFma(a(even + 1), b(even + 1), sum) : flushedFma(0, 0, sum);
      sum = flushedFma(a(even), b(even), sum);
    }
  } else {
    for (int64_t i = 0; i < k; ++i)
      sum = std::fma(a(i), b(i), sum);
  }
  return sum;
}

// --- exp, log, lanes ------------------------------------------------------------------------------------------------------------------

inline float definedExp(float x) {
  x = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
  float n = std::fma(x, 1.44269504f, 0x1.8p23f) - 0x1.8p23f;
  float r = std::fma(n, -0x1.0bfbe8e8p-15f, std::fma(n, -0x1.62ep-1f, x)), p = 0x1.6a241ap-10f;
  for (float term : {0x1.1239f2p-7f, 0x1.5558f2p-5f, 0x1.555492p-3f, 0x1.fffffcp-2f, 1.0f, 1.0f})
    p = std::fma(p, r, term);
  return std::isnan(x) ? x : std::ldexp(p, int(n));
}

inline double definedExp(double x) {
  x = x < -746.0 ? -746.0 : x > 710.0 ? 710.0 : x;
  double n = std::fma(x, 1.44269504088896340736, 0x1.8p52) - 0x1.8p52, p = 1.6059043836821613e-10;
  double r = std::fma(n, -0x1.cf79abc9e3b39p-40, std::fma(n, -0x1.62e42fefap-1, x));
  for (double term :
       {2.08767569878681e-9, 2.505210838544172e-8, 2.755731922398589e-7, 2.7557319223985893e-6, 2.48015873015873e-5, 1.984126984126984e-4,
        1.388888888888889e-3, 8.333333333333333e-3, 4.1666666666666664e-2, 1.6666666666666666e-1, 0.5, 1.0, 1.0})
    p = std::fma(p, r, term);
  return std::isnan(x) ? x : std::ldexp(p, int(n));
}

/// Element i of a row goes to lane i mod 16, then the lanes are folded.
template <class T, class Each> T laneSum(int64_t count, const Each &add) {
  T lanes[16] = {};
  for (int64_t i = 0; i < count; ++i)
    lanes[i % 16] = add(i, lanes[i % 16]);
  for (int by = 8; by > 0; by /= 2)
    for (int i = 0; i < by; ++i)
      lanes[i] = lanes[i] + lanes[i + by];
  return lanes[0];
}

// --- attention ------------------------------------------------------------------------------------------------------------------------

/// Scores and their derivative by position: x becomes y = f(x, query, key, head); minus infinity masks. Probabilities that `drops` are
/// dropped by position, too.
struct Modification {
  bool on = false, drops = false;
  /// Keys at least this far before or after a query are masked.
  int64_t window = std::numeric_limits<int64_t>::max();
  template <class T> T value(T x, int64_t query, int64_t key, int64_t head) const {
    if (!on)
      return x;
    if ((query + 3 * key + head) % 7 == 0 || query - key >= window || key - query >= window)
      return -std::numeric_limits<T>::infinity();
    return x / (1 + std::fabs(x)) * 4 - T(query - key) * T(0.03125);
  }
  template <class T> T factor(int64_t query, int64_t key, int64_t head) const {
    return !on || !drops ? T(1) : (3 * query + 5 * key + head) % 4 == 0 ? T(0) : T(1.25);
  }
  template <class T> T derivative(T x) const { return on ? 4 / ((1 + std::fabs(x)) * (1 + std::fabs(x))) : 1; }
};

template <class In> auto number(In x) {
  if constexpr (sizeof(In) == 2)
    return float(x);
  else
    return x;
}

inline std::vector<PositionRun> runsOf(const std::vector<PositionRun> &runs, int64_t rows) {
  return runs.empty() ? std::vector<PositionRun>{{0, rows, 0}} : runs;
}
inline int64_t positionIn(const std::vector<PositionRun> &runs, int64_t row) {
  for (const PositionRun &run : runs)
    if (row >= run.at && row < run.at + run.count)
      return run.position + row - run.at;
  return row;
}

/// Operands by index, whatever their strides.
template <class In, class T> struct Tensors {
  const AttentionShape &shape;
  const In *q, *k, *v, *dout;
  Modification modification;
  T at(const In *data, RowStrides strides, int64_t head, int64_t row, int64_t column) const {
    return T(number(data[head * strides.head + row * strides.row + column]));
  }
  T qAt(int64_t h, int64_t i, int64_t f) const { return at(q, shape.q, h, i, f); }
  T kAt(int64_t j, int64_t f) const { return at(k, shape.k, 0, j, f); }
  T vAt(int64_t j, int64_t f) const { return at(v, shape.v, 0, j, f); }
  T doutAt(int64_t h, int64_t i, int64_t f) const { return at(dout, shape.dout, h, i, f); }
  std::vector<PositionRun> queryRuns() const { return runsOf(shape.queryRuns, shape.queries); }
  std::vector<PositionRun> keyRuns() const { return runsOf(shape.keyRuns, shape.keys); }
  int64_t queryPosition(int64_t i) const { return positionIn(shape.queryRuns, i); }
  int64_t keyPosition(int64_t j) const { return positionIn(shape.keyRuns, j); }
  bool sees(int64_t i, int64_t j) const { return !shape.causal || keyPosition(j) <= queryPosition(i); }
  T modified(T x, int64_t h, int64_t i, int64_t j) const { return modification.value(x, queryPosition(i), keyPosition(j), h); }
  T factor(int64_t h, int64_t i, int64_t j) const { return modification.factor<T>(queryPosition(i), keyPosition(j), h); }
};

/// Blocks of keys in the order in which they are taken, each as far as query i sees it: the first key and how many.
template <class In, class T> std::vector<std::pair<int64_t, int64_t>> blocksSeen(const Tensors<In, T> &t, int64_t i) {
  std::vector<std::pair<int64_t, int64_t>> blocks;
  for (const PositionRun &run : t.keyRuns()) {
    int64_t seen = t.shape.causal ? std::min(run.count, t.queryPosition(i) - run.position + 1) : run.count;
    for (int64_t first = 0; first < seen; first += engine::keysPerBlock)
      blocks.emplace_back(run.at + first, std::min(engine::keysPerBlock, seen - first));
  }
  return blocks;
}

template <class T> struct Forward {
  std::vector<T> out, lse, max, sum; ///< out: not rounded
};

/// The running numbers of all rows; `out` is divided where `ends`.
template <class In, class T> Forward<T> definedForward(const Tensors<In, T> &t, bool ends) {
  const AttentionShape &s = t.shape;
  int64_t rows = s.groups * s.queries;
  Forward<T> f{std::vector<T>(rows * s.valueWidth), std::vector<T>(rows), std::vector<T>(rows, -INFINITY), std::vector<T>(rows)};
  for (int64_t row = 0; row < rows; ++row) {
    int64_t h = row / s.queries, i = row % s.queries;
    T *out = &f.out[row * s.valueWidth], &m = f.max[row], &sum = f.sum[row];
    for (auto [first, count] : blocksSeen(t, i)) {
      std::vector<T> p(count);
      T most = m;
      for (int64_t j = 0; j < count; ++j) {
        T product = productOver<In, T>(
            s.width, [&](int64_t f) { return t.qAt(h, i, f); }, [&](int64_t f) { return t.kAt(first + j, f); });
        p[j] = t.modified(product * T(s.scale), h, i, first + j);
        most = p[j] > most ? p[j] : most;
      }
      T finite = most == -INFINITY ? 0 : most, decay = definedExp(m - finite);
      for (T &x : p)
        x = definedExp(x - finite);
      sum = sum * decay + laneSum<T>(count, [&](int64_t j, T lane) { return lane + p[j]; });
      for (int64_t c = 0; c < s.valueWidth; ++c)
        out[c] = std::fma(out[c], decay,
                          productOver<In, T>(
                              count, [&](int64_t j) { return T(number(In(p[j] * t.factor(h, i, first + j)))); },
                              [&](int64_t j) { return t.vAt(first + j, c); }));
      m = most;
    }
    if (!ends)
      continue;
    T factor = sum == 0 ? 0 : 1 / sum;
    for (int64_t c = 0; c < s.valueWidth; ++c)
      out[c] = out[c] * factor + 0;
    f.lse[row] = T(double(m) + std::log(double(sum)));
  }
  return f;
}

template <class T> struct Gradients {
  std::vector<T> dq, dk, dv; ///< not rounded, without gaps
};

template <class In, class T> Gradients<T> definedBackward(const Tensors<In, T> &t, const std::vector<T> &lse, const std::vector<T> &dot) {
  const AttentionShape &s = t.shape;
  Gradients<T> g{std::vector<T>(s.groups * s.queries * s.width), std::vector<T>(s.keys * s.width), std::vector<T>(s.keys * s.valueWidth)};
  std::vector<T> p(s.queries * s.keys), ds(s.queries * s.keys);
  for (int64_t h = 0; h < s.groups; ++h) {
    for (int64_t i = 0; i < s.queries; ++i)
      for (int64_t j = 0; j < s.keys; ++j) {
        int64_t row = h * s.queries + i;
        T x = productOver<In, T>(
                  s.width, [&](int64_t f) { return t.qAt(h, i, f); }, [&](int64_t f) { return t.kAt(j, f); }) *
              T(s.scale);
        T dp = productOver<In, T>(
            s.valueWidth, [&](int64_t f) { return t.doutAt(h, i, f); }, [&](int64_t f) { return t.vAt(j, f); });
        T exp = t.sees(i, j) && lse[row] != -INFINITY ? definedExp(t.modified(x, h, i, j) - lse[row]) : 0;
        T factor = t.factor(h, i, j);
        p[i * s.keys + j] = T(number(In(exp * factor)));
        ds[i * s.keys + j] = T(number(In(exp * (dp * factor - dot[row]) * t.modification.derivative(x))));
      }
    for (int64_t i = 0; i < s.queries; ++i)
      for (int64_t f = 0; f < s.width; ++f)
        for (auto [at, count, position] : t.keyRuns()) {
          T &sum = g.dq[(h * s.queries + i) * s.width + f];
          sum = productOver<In, T>(
              count, [&](int64_t j) { return ds[i * s.keys + at + j]; }, [&](int64_t j) { return t.kAt(at + j, f); }, sum);
        }
    for (auto [at, count, position] : t.queryRuns())
      for (int64_t j = 0; j < s.keys; ++j) {
        for (int64_t f = 0; f < s.width; ++f)
          g.dk[j * s.width + f] = productOver<In, T>(
              count, [&](int64_t i) { return ds[(at + i) * s.keys + j]; }, [&](int64_t i) { return t.qAt(h, at + i, f); },
              g.dk[j * s.width + f]);
        for (int64_t c = 0; c < s.valueWidth; ++c)
          g.dv[j * s.valueWidth + c] = productOver<In, T>(
              count, [&](int64_t i) { return p[(at + i) * s.keys + j]; }, [&](int64_t i) { return t.doutAt(h, at + i, c); },
              g.dv[j * s.valueWidth + c]);
      }
  }
  for (std::vector<T> *scaled : {&g.dq, &g.dk})
    for (T &x : *scaled)
      x = x * T(s.scale) + 0;
  for (T &x : g.dv)
    x = x + 0;
  return g;
}

/// Out, lse and gradients with the matrix of probabilities, in float64.
struct Textbook {
  std::vector<double> out, lse, dq, dk, dv;
};

template <class In> Textbook textbook(const Tensors<In, double> &t) {
  const AttentionShape &s = t.shape;
  int64_t rows = s.groups * s.queries;
  Textbook b{std::vector<double>(rows * s.valueWidth), std::vector<double>(rows), std::vector<double>(rows * s.width),
             std::vector<double>(s.keys * s.width), std::vector<double>(s.keys * s.valueWidth)};
  for (int64_t row = 0; row < rows; ++row) {
    int64_t h = row / s.queries, i = row % s.queries;
    std::vector<double> x(s.keys), p(s.keys, -INFINITY);
    double max = -INFINITY, sum = 0, dot = 0;
    for (int64_t j = 0; j < s.keys; ++j) {
      if (!t.sees(i, j))
        continue;
      for (int64_t f = 0; f < s.width; ++f)
        x[j] += t.qAt(h, i, f) * t.kAt(j, f) * s.scale;
      p[j] = t.modified(x[j], h, i, j);
      max = std::max(max, p[j]);
    }
    for (int64_t j = 0; j < s.keys; ++j)
      sum += p[j] = max == -INFINITY ? 0 : std::exp(p[j] - max);
    b.lse[row] = max + std::log(sum);
    for (int64_t j = 0; j < s.keys; ++j) {
      p[j] = sum == 0 ? 0 : p[j] / sum;
      for (int64_t c = 0; c < s.valueWidth; ++c) {
        b.out[row * s.valueWidth + c] += p[j] * t.factor(h, i, j) * t.vAt(j, c);
        b.dv[j * s.valueWidth + c] += p[j] * t.factor(h, i, j) * t.doutAt(h, i, c);
      }
    }
    for (int64_t c = 0; c < s.valueWidth; ++c)
      dot += b.out[row * s.valueWidth + c] * t.doutAt(h, i, c);
    for (int64_t j = 0; j < s.keys; ++j) {
      double dp = 0;
      for (int64_t c = 0; c < s.valueWidth; ++c)
        dp += t.doutAt(h, i, c) * t.vAt(j, c);
      double ds = p[j] * (dp * t.factor(h, i, j) - dot) * t.modification.derivative(x[j]) * s.scale;
      for (int64_t f = 0; f < s.width; ++f) {
        b.dq[row * s.width + f] += ds * t.kAt(j, f);
        b.dk[j * s.width + f] += ds * t.qAt(h, i, f);
      }
    }
  }
  return b;
}

} // namespace npar::testing
