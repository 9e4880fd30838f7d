// Softmax in plain code.
#include "engine/attention/SoftmaxKernels.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

namespace npar::engine {

namespace {

#include "engine/product/PlainSet.inc"

#include "engine/product/Vectors.inc"

#include "engine/attention/PlainPowers.inc"

/// The second where one is NaN or both are zero, as x86 has them.
template <class V> inline V greater(const V &a, const V &b) { return a > b ? a : b; }
template <class V> inline V lesser(const V &a, const V &b) { return a < b ? a : b; }

#include "engine/attention/SoftmaxKernels.inc"

} // namespace

const SoftmaxKernels &plainSoftmax(ProductType type) { return softmaxOfType(type); }

} // namespace npar::engine
