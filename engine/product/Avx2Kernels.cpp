// Tiles of 6 x 16 float32 in AVX2 with FMA: 12 sums, two vectors of B and a broadcast fill the 16 registers.
#include "engine/product/TileKernels.h"

#include <algorithm>
#include <immintrin.h>
#include <type_traits>
#include <utility>

#pragma GCC push_options
#pragma GCC target("avx2,fma")

namespace npar::engine {

namespace {

#include "engine/product/Avx2Set.inc"

struct BlockSizes {
  int64_t k, columns;
};
template <class T> constexpr BlockSizes sizesFor = {int64_t(768 * sizeof(float) / sizeof(T)), 128};

#include "engine/product/Vectors.inc"

#include "engine/product/VectorKernels.inc"

#include "engine/product/KernelTable.inc"

} // namespace

const TileKernels &avx2Kernels(ProductType type) { return kernelsOf(type); }

} // namespace npar::engine

#pragma GCC pop_options
