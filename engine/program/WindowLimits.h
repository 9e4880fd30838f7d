// What products that walk windows can have: the loader refuses more, and the kernels hold it in arrays.
#pragma once

namespace npar::program {

/// The most windows of an operand, and positions of each of m, n and k.
constexpr int mostWindows = 2, mostPositions = 8;

} // namespace npar::program
