// Order of the steps of a fragment by its dependencies: reachability as bit sets, for the memory plan and the memory check.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace npar::program {

struct Fragment;

/// Rows of bits, one row per element.
class BitMatrix {
public:
  BitMatrix(size_t rows, size_t columns) : words((columns + 63) / 64), bits(rows * words) {}
  bool test(size_t row, size_t column) const { return bits[row * words + column / 64] >> (column % 64) & 1; }
  void set(size_t row, size_t column) { bits[row * words + column / 64] |= uint64_t(1) << (column % 64); }
  void unite(size_t row, size_t other) { unite(row, *this, other); }
  /// Unites a row with a row of another matrix that has the same number of columns.
  void unite(size_t row, const BitMatrix &from, size_t other) {
    for (size_t i = 0; i < words; ++i)
      bits[row * words + i] |= from.bits[other * words + i];
  }
  void clear(size_t row) { std::fill_n(bits.begin() + row * words, words, 0); }

private:
  size_t words;
  std::vector<uint64_t> bits;
};

/// Steps are added in order; `before` asks for a path. n steps take n * n / 8 bytes.
class StepOrder {
public:
  explicit StepOrder(size_t steps) : ancestors(steps, steps) {}
  explicit StepOrder(const Fragment &fragment);
  /// Adds the edge `earlier` -> `later`. All edges into `earlier` must have been added before.
  void add(uint32_t later, uint32_t earlier) {
    ancestors.unite(later, earlier);
    ancestors.set(later, earlier);
  }
  /// True if `later` waits for `earlier`, directly or through others.
  bool before(uint32_t earlier, uint32_t later) const { return ancestors.test(later, earlier); }

private:
  BitMatrix ancestors;
};

} // namespace npar::program
