// Softmax in AVX-512 for the bf16 panels of AMX.
//
// Panels of A: per group of 32 k, 32 rows of 64 bytes. Panels of B: per group two tiles of 16 rows, a row being a pair of neighbours in k
// for 16 columns (engine/product/TilesKernels.cpp).
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

constexpr int64_t panelSide = 32;

/// The upper halves of 32 floats that are rounded to bf16 already: `low` for the lower half of each word, `high` for the upper one.
inline __attribute__((always_inline)) Vector<uint32_t> wordsOf(const Sixteen<float> &low, const Sixteen<float> &high) {
  return loadVector<Vector<uint32_t>>(&low) >> 16 | loadVector<Vector<uint32_t>>(&high);
}

struct TilePanels {
  using Sums = float;
  using Element = uint16_t;
  static constexpr int rows = panelSide;

  static Sixteen<float> rounding(const Sixteen<float> &value) {
    return each([=](Vector<float> x) { return roundedToBf16(x); }, value);
  }

  /// k to k + 31 of a row of A.
  static inline __attribute__((always_inline)) void storeA(void *panel, int row, int64_t k, const Sixteen<float> &low,
                                                           const Sixteen<float> &high) {
    Sixteen<float> even, odd;
    splitPlaces(rounding(low), rounding(high), even, odd, std::make_integer_sequence<int, lanes<float>>());
    storeVector(static_cast<uint16_t *>(panel) + k * panelSide + row * panelSide, wordsOf(even, odd));
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
        // A panel begins at a multiple of 32 keys, so these are a pair; one without a second has zeros.
        uint16_t *pair = to + c * depth + r / 2 * panelSide;
        for (int half = 0; half < 2; ++half)
          storeVector(pair + half * lanesOfRow * panelSide, wordsOf(rounding(rows[0][half]), rounding(rows[1][half])));
      }
  }
};

} // namespace

const SoftmaxKernels &tilesSoftmax() {
  static constexpr SoftmaxKernels kernels = softmaxOf<TilePanels>();
  return kernels;
}

} // namespace npar::engine

#pragma GCC pop_options
