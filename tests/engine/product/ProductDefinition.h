// The definition of products' sums in plain code (engine/product/TileKernels.h), and guarded memory, for tests of products.
#pragma once

#include "engine/numbers/NarrowFloat.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace npar::testing {

template <class T> struct Aligned {
  explicit Aligned(size_t count) : data(static_cast<T *>(std::aligned_alloc(64, (count * sizeof(T) + 127) / 64 * 64))), size(count) {}
  ~Aligned() { std::free(data); }
  Aligned(const Aligned &) = delete;
  T *data;
  size_t size;
};

constexpr float smallest = std::numeric_limits<float>::min();

inline float flushed(float value) { return std::fabs(value) < smallest ? std::copysign(0.0f, value) : value; }

/// fma in float32 with denormals flushed. Near the smallest normal number the rounding decides on tininess as if exponents had no
/// bound: found out 2^64 higher.
inline float flushedFma(float a, float b, float c) {
  a = flushed(a), b = flushed(b), c = flushed(c);
  float result = std::fma(a, b, c);
  if (std::fabs(result) > smallest || std::isnan(result))
    return result;
  constexpr float up = 18446744073709551616.0f;
  float high = std::fabs(a) > std::fabs(b) ? std::fma(a, b * up, c * up) : std::fma(a * up, b, c * up);
  return std::fabs(high) < smallest * up ? std::copysign(0.0f, result) : result;
}

inline float flushedAdd(float a, float b) { return flushed(flushed(a) + flushed(b)); }

template <class T, class A, class B> T chainOf(int64_t k, const A &a, const B &b) {
  T sum = 0;
  for (int64_t i = 0; i < k; ++i)
    sum = std::fma(a(i), b(i), sum);
  return sum;
}

template <class A, class B> float groupsOf(int64_t k, const A &a, const B &b) {
  float sum = 0;
  for (int64_t group = 0; group < k; group += 32) {
    float half[2] = {0, 0};
    for (int64_t i = group; i < group + 32; ++i)
      half[i & 1] = flushedFma(i < k ? a(i) : 0, i < k ? b(i) : 0, half[i & 1]);
    sum = flushedAdd(sum, flushedAdd(half[0], half[1]));
  }
  return sum;
}

template <class A, class B> float pairsOf(int64_t k, const A &a, const B &b) {
  float sum = 0;
  for (int64_t even = 0; even < k; even += 2) {
    sum = even + 1 < k ? flushedFma(a(even + 1), b(even + 1), sum) : flushedFma(0, 0, sum);
    sum = flushedFma(a(even), b(even), sum);
  }
  return sum;
}

/// Scratch memory: NaN until it is written, so that early reads show, with a guard after it.
struct Guarded {
  explicit Guarded(uint64_t bytes) : memory(bytes + 64), bytes(bytes) {
    std::memset(memory.data, 0xff, bytes);
    std::memset(memory.data + bytes, mark, 64);
  }
  bool whole() const { return std::count(memory.data + bytes, memory.data + bytes + 64, mark) == 64; }
  static constexpr char mark = 0x5a;
  Aligned<char> memory;
  uint64_t bytes;
};

template <class T> bool sameBits(T a, T b) { return std::memcmp(&a, &b, sizeof(T)) == 0 || (std::isnan(a) && std::isnan(b)); }

} // namespace npar::testing
