// The part of a variable that a rank keeps, as runs of elements that are contiguous both in the variable and in the piece.
#pragma once

#include <cstdint>
#include <vector>

namespace npar::engine {

/// A dimension of a piece: local index i is the logical index start + i; indices from `global` on are padding.
struct KeptDimension {
  int64_t global = 0, local = 0, start = 0;
  int64_t valid() const; ///< number of local indices that are not padding
};

/// `count` elements that are contiguous both in the logical tensor and in the piece, each row-major; no run contains padding.
struct ElementRun {
  uint64_t logical = 0, local = 0, count = 0;
};

/// Computes any run directly from its number, so several threads can process a tensor block by block.
class PieceRuns {
public:
  PieceRuns() = default;
  /// `begin` to `end`: the kept share of the row-major elements of `dimensions`, counted with padding; local offsets count from `begin`.
  PieceRuns(const std::vector<KeptDimension> &dimensions, uint64_t begin, uint64_t end);

  /// Runs are numbered from 0, ascending in both offsets.
  uint64_t size() const { return last - first; }
  ElementRun at(uint64_t index) const;
  /// The first run that ends beyond the logical element; size() when none does.
  uint64_t from(uint64_t logical) const;
  /// Elements of all runs.
  uint64_t elements() const;

private:
  struct Outer {
    uint64_t valid, logicalStride, localStride;
  };
  /// A run of the whole piece, before it is clipped to the share.
  ElementRun whole(uint64_t index) const;
  /// The first run of the whole piece, not clipped to the share, that is beyond a place; `before` compares with the place.
  template <typename Before> uint64_t firstNot(Before before, uint64_t low, uint64_t high) const;

  std::vector<Outer> outer; ///< dimensions that are not joined into runs, major to minor
  uint64_t length = 0, base = 0;
  uint64_t begin = 0, end = 0;
  uint64_t first = 0, last = 0; ///< the runs of the whole piece that intersect the share
};

} // namespace npar::engine
