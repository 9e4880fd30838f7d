// A convolution or a gradient of one (program::WindowedProduct) as launches of the kernels of walked products.
#pragma once

#include "engine/backends/cuda/ptx/ProductText.h"

#include <vector>

namespace npar::engine::cuda {

/// A launch: some rows of C and the k that count for them. `a`, `b` and `c` are offsets of the operands in bytes; what belongs to the
/// batch is missing in the parameters.
struct WalkedLaunch {
  WalkedProductParameters parameters = {};
  int64_t a, b, c;
};

/// The counts that all launches of the product have in common.
WalkKind walkKind(const program::WindowedProduct &product);
/// One launch for each set of rows with the same k. Rows without any k become zeros; without a launch if the product is added to C.
std::vector<WalkedLaunch> walkedLaunches(const program::Matmul &matmul);

} // namespace npar::engine::cuda
