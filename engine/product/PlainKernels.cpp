// Tiles in plain code, fma by fma: for processors without a kernel of their own, and for comparing the others with it.
#include "engine/product/TileKernels.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

namespace npar::engine {

namespace {

#include "engine/product/PlainSet.inc"

struct BlockSizes {
  int64_t k, columns;
};
template <class T> constexpr BlockSizes sizesFor = {128, 64};

#include "engine/product/Vectors.inc"

#include "engine/product/VectorKernels.inc"

#include "engine/product/KernelTable.inc"

} // namespace

const TileKernels &plainKernels(ProductType type) { return kernelsOf(type); }

} // namespace npar::engine
