// Softmax in AVX2 with FMA.
#include "engine/attention/SoftmaxKernels.h"

#include <algorithm>
#include <cmath>
#include <immintrin.h>
#include <iterator>
#include <type_traits>
#include <utility>

#pragma GCC push_options
#pragma GCC target("avx2,fma")

namespace npar::engine {

namespace {

#include "engine/product/Avx2Set.inc"

#include "engine/product/Vectors.inc"

#include "engine/attention/PlainPowers.inc"

/// Maximum and minimum as x86 defines them: the second operand if one is NaN or both are zero.
inline __attribute__((always_inline)) __m256 greater(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
inline __attribute__((always_inline)) __m256d greater(__m256d a, __m256d b) { return _mm256_max_pd(a, b); }
inline __attribute__((always_inline)) __m256 lesser(__m256 a, __m256 b) { return _mm256_min_ps(a, b); }
inline __attribute__((always_inline)) __m256d lesser(__m256d a, __m256d b) { return _mm256_min_pd(a, b); }

#include "engine/attention/SoftmaxKernels.inc"

} // namespace

const SoftmaxKernels &avx2Softmax(ProductType type) { return softmaxOfType(type); }

} // namespace npar::engine

#pragma GCC pop_options
