// bf16 products by the instruction VDPBF16PS in AVX-512's tiles of 14 x 32 sums. Panels hold words, pairs of neighbours along k: half the
// bytes and half the steps of float32.
#include "engine/product/TileKernels.h"

#include <algorithm>
#include <immintrin.h>
#include <type_traits>
#include <utility>

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma,prefer-vector-width=512")

namespace npar::engine {

namespace {

#include "engine/product/Avx512Set.inc"

struct BlockSizes {
  int64_t k, columns;
};
template <class T> constexpr BlockSizes sizesFor = {3072, 128};

#include "engine/product/Vectors.inc"

/// Adds to each lane the product of the odd halves of its words, then that of the even ones.
inline __attribute__((always_inline)) Vector<float> fma(const Vector<uint32_t> &a, const Vector<uint32_t> &b, const Vector<float> &sum) {
  return Vector<float>(_mm512_dpbf16_ps(__m512(sum), __m512bh(a), __m512bh(b)));
}

#include "engine/product/VectorKernels.inc"

/// 16 neighbours at most of two rows of memory, as pairs; nothing is read beyond `used`.
inline __attribute__((always_inline)) Vector<uint32_t> pairUp(const uint16_t *even, const uint16_t *odd, int64_t used) {
  auto mask = __mmask16((1u << used) - 1);
  __m512i low = _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_maskz_loadu_epi16(mask, even));
  __m512i high = odd ? _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_maskz_loadu_epi16(mask, odd)) : _mm512_setzero_si512();
  return Vector<uint32_t>(low) | Vector<uint32_t>(high) << 16;
}

/// BF16Pairs.
struct InWords {
  using Source = uint16_t;
  using Element = uint32_t;
  using Sum = float;
  using Word = uint32_t;
  static constexpr int group = 2 * chunk<uint32_t>, perElement = 2, step = 2;
  static constexpr int64_t position(int64_t k) { return k / 2; }

  static inline __attribute__((always_inline)) void placeRow(const uint16_t *from, uint32_t *to) {
    storeVector(to, loadVector<Vector<uint32_t>>(from));
  }
  template <int Width> static inline __attribute__((always_inline)) void placeAcross(const uint16_t *from, int64_t stride, uint32_t *to) {
    for (int left = 0; left < Width; left += lanes<uint32_t>) {
      constexpr int n = std::min(Width, lanes<uint32_t>);
      _mm512_mask_storeu_epi32(to + left, __mmask16((1u << n) - 1), __m512i(pairUp(from + left, from + stride + left, n)));
    }
  }
  static inline __attribute__((always_inline)) void placeWord(uint32_t *columns, int64_t word, const Vector<uint32_t> &value, int width) {
    storeVector(columns + word * width, value);
  }
  /// 32 neighbours of two rows, as pairs.
  static inline __attribute__((always_inline)) void loadRows(const uint16_t *from, int64_t stride, Vector<uint32_t> &left,
                                                             Vector<uint32_t> &right) {
    using Elements = Halves<2 * lanes<uint32_t>>::type;
    auto even = loadVector<Elements>(from), odd = loadVector<Elements>(from + stride);
    using Order = std::make_integer_sequence<int, 2 * lanes<uint32_t>>;
    left = Vector<uint32_t>(interleaveLow(even, odd, Order()));
    right = Vector<uint32_t>(interleaveHigh(even, odd, Order()));
  }
  /// The same of a vector of columns at most, of which `used` exist; `both`: the second row exists.
  static inline __attribute__((always_inline)) Vector<uint32_t> loadRows(const uint16_t *from, int64_t stride, int64_t used, bool both) {
    return pairUp(from, both ? from + stride : nullptr, used);
  }
};

} // namespace

const TileKernels &pairsKernels() {
  static constexpr TileKernels kernels = vectorKernels<InWords>(false);
  return kernels;
}

} // namespace npar::engine

#pragma GCC pop_options
