// Softmax in AVX-512.
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

} // namespace

const SoftmaxKernels &avx512Softmax(ProductType type) { return softmaxOfType(type); }

} // namespace npar::engine

#pragma GCC pop_options
