// Products whose operands are walked by windows: a convolution and its gradients are products of which one operand's elements are at places
// that move with output position and window position.
#pragma once

#include "engine/program/WindowLimits.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace npar::engine {

/// A dimension of `size` entries, `stride` elements apart, that a window walks. The entry is (sum of steps x positions - before) / spread;
/// where that is not whole, or not an entry, the operand's element does not exist.
struct Window {
  int64_t size = 1, stride = 0;
  std::vector<int64_t> steps; ///< one for each position
  int64_t before = 0, spread = 1;
};

/// Places of an operand's elements: the positions of its rows (of B: of k) come first, then those of its columns.
struct OperandWalk {
  std::vector<int64_t> strides; ///< elements, one for each position
  std::vector<Window> windows;
};

/// C[m, n] = sum over k of A[m, k] B[k, n], where m, n and k are tuples of positions, row-major over these sizes. Elements outside a
/// dimension are +0. A k for which the entry of a window is not whole is left out of the sum; only windows of A have a `spread`.
struct WindowedShape {
  std::vector<int64_t> m, n, k;
  OperandWalk a, b;
};

using program::mostPositions;
using program::mostWindows;

/// Places of the rows of C, in elements.
class RowPlaces {
public:
  RowPlaces(std::vector<int64_t> sizes, std::vector<int64_t> strides) : sizes(std::move(sizes)), strides(std::move(strides)) {}
  int64_t count() const;
  int64_t offset(int64_t row) const;
  /// The offsets of consecutive rows.
  void offsets(int64_t row, int64_t count, int64_t *to) const;
  /// True if the rows are a constant stride apart.
  bool isEven(int64_t stride) const;
  /// The distance in C between neighbours along each position.
  const std::vector<int64_t> &distances() const { return strides; }

private:
  friend struct WindowedPart;
  std::vector<int64_t> sizes, strides;
};

/// A product without `spread`, of some rows of C and all k that count for these. `a`, `b` and `c` are offsets of the operands in elements.
/// A part that `isEmpty` has no such k: its rows are zeros.
struct WindowedPart {
  WindowedShape shape;
  RowPlaces rows;
  int64_t a = 0, b = 0, c = 0;
  bool isEmpty = false;

  /// Keeps the rows that leave the remainder `remainder` in the window of A with this number.
  void keep(std::size_t window, int64_t remainder);
};

/// The product in parts: each takes the rows for which the same k count, so nothing is multiplied by zeros that spreading made.
std::vector<WindowedPart> partsOf(const WindowedShape &shape, int64_t cStride);

} // namespace npar::engine
