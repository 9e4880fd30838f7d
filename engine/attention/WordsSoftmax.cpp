// Softmax in AVX-512 for the bf16 panels of AMX and of AVX-512-BF16, whose words are pairs of neighbours in k.
//
// Panels of A: per group of 32 k, rows of 64 bytes. Panels of B hold pairs. For AMX a group has two tiles of 16 pairs for 16 columns each;
// for AVX-512-BF16 a pair has all 32 columns (engine/product/TilesKernels.cpp, PairsKernels.cpp).
#include "engine/attention/SoftmaxKernels.h"

#include <algorithm>
#include <cmath>
#include <immintrin.h>
#include <iterator>
#include <type_traits>
#include <utility>

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,prefer-vector-width=512")

namespace npar::engine {

namespace {

#include "engine/product/Avx512Set.inc"

#include "engine/product/Vectors.inc"

#include "engine/attention/Avx512Powers.inc"

#include "engine/attention/SoftmaxKernels.inc"

/// Number of k of a group, and of columns of a panel of B.
constexpr int64_t panelSide = 32;

/// The upper halves of 32 floats that are rounded to bf16 already: `low` for the lower half of each word, `high` for the upper one.
inline __attribute__((always_inline)) Vector<uint32_t> wordsOf(const Sixteen<float> &low, const Sixteen<float> &high) {
  return loadVector<Vector<uint32_t>>(&low) >> 16 | loadVector<Vector<uint32_t>>(&high);
}

/// `Rows` of a panel of A; in a panel of B, the elements from a pair to the next one and from the first 16 columns to the others.
template <int Rows, int64_t ToNextPair, int64_t ToOtherHalf> struct WordPanels {
  using Sums = float;
  using Element = uint16_t;
  static constexpr int rows = Rows;

  static Sixteen<float> rounding(const Sixteen<float> &value) {
    return each([=](Vector<float> x) { return roundedToBf16(x); }, value);
  }

  /// k to k + 31 of a row of A.
  static inline __attribute__((always_inline)) void storeA(void *panel, int row, int64_t k, const Sixteen<float> &low,
                                                           const Sixteen<float> &high) {
    Sixteen<float> even, odd;
    splitPlaces(rounding(low), rounding(high), even, odd, std::make_integer_sequence<int, lanes<float>>());
    storeVector(static_cast<uint16_t *>(panel) + k * Rows + row * panelSide, wordsOf(even, odd));
  }

  static void pack(const void *gradients, int64_t stride, int used, int64_t begin, int64_t end, void *panelOfA, void *panelsOfB, int64_t k,
                   int64_t depth) {
    auto *from = static_cast<const float *>(gradients);
    auto *to = static_cast<uint16_t *>(panelsOfB) + k * panelSide;
    for (int r = 0; r < used; r += 2)
      for (int64_t c = begin; c < end; c += columnUnit) {
        Sixteen<float> rows[2][2] = {};
        for (int i = 0; i < 2 && r + i < used; ++i) {
          const float *row = from + (r + i) * stride + c;
          rows[i][0] = loadSixteen<float>(row), rows[i][1] = loadSixteen<float>(row + lanesOfRow);
          storeA(panelOfA, r + i, c, rows[i][0], rows[i][1]);
        }
        // A panel begins at an even number of keys, so these are a pair; one without a second has zeros.
        uint16_t *pair = to + c * depth + r / 2 * ToNextPair;
        for (int half = 0; half < 2; ++half)
          storeVector(pair + half * ToOtherHalf, wordsOf(rounding(rows[0][half]), rounding(rows[1][half])));
      }
  }
};

} // namespace

const SoftmaxKernels &tilesSoftmax() {
  static constexpr SoftmaxKernels kernels = softmaxOf<WordPanels<panelSide, panelSide, lanesOfRow * panelSide>>();
  return kernels;
}

const SoftmaxKernels &pairsSoftmax() {
  static_assert(tileRows % 2 == 0, "pairs of keys belong to one panel");
  static constexpr SoftmaxKernels kernels = softmaxOf<WordPanels<tileRows, 2 * panelSide, panelSide>>();
  return kernels;
}

} // namespace npar::engine

#pragma GCC pop_options
