// Limits of products that walk windows. The loader refuses more, and the kernels have arrays of these sizes.
#pragma once

namespace npar::program {

/// The most windows of an operand, and positions of each of m, n and k.
constexpr int mostWindows = 2, mostPositions = 8;

} // namespace npar::program
