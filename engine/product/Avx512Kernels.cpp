// Tiles of 14 x 32 float32 in AVX-512: 28 sums, two vectors of B and a broadcast in 31 of the 32 registers.
#include "engine/product/TileKernels.h"

#include <algorithm>
#include <immintrin.h>
#include <type_traits>
#include <utility>

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,prefer-vector-width=512")

namespace npar::engine {

namespace {

#include "engine/product/Avx512Set.inc"

struct BlockSizes {
  int64_t k, columns;
};
template <class T> constexpr BlockSizes sizesFor = {int64_t(768 * sizeof(float) / sizeof(T)), 256};

#include "engine/product/Vectors.inc"

#include "engine/product/VectorKernels.inc"

#include "engine/product/KernelTable.inc"

} // namespace

const TileKernels &avx512Kernels(ProductType type) { return kernelsOf(type); }

} // namespace npar::engine

#pragma GCC pop_options
