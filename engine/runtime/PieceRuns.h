// The part of a variable that a rank keeps, as runs of elements that lie together in the variable and in the piece.
#pragma once

#include <cstdint>
#include <vector>

namespace npar::engine {

/// A dimension of a piece: local index i is the logical index start + i; what lies beyond `global` is padding.
struct KeptDimension {
  int64_t global = 0, local = 0, start = 0;
  int64_t valid() const; ///< local indices that are no padding
};

/// `count` elements that follow each other both in the logical tensor and in the piece, each row-major; padding belongs to no run.
struct ElementRun {
  uint64_t logical = 0, local = 0, count = 0;
};

/// Finds any run by arithmetic: a tensor can be gone through block by block, by several threads.
class PieceRuns {
public:
  PieceRuns() = default;
  /// `begin` to `end`: the share of the row-major elements of `dimensions` (padding included) that is kept; local offsets count from there.
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
  /// Before the share is taken.
  ElementRun whole(uint64_t index) const;
  /// The first run of those before the share is taken that is beyond a place, which `before` tells.
  template <typename Before> uint64_t firstNot(Before before, uint64_t low, uint64_t high) const;

  std::vector<Outer> outer; ///< the dimensions that runs do not join, major to minor
  uint64_t length = 0, base = 0;
  uint64_t begin = 0, end = 0;
  uint64_t first = 0, last = 0; ///< of the runs before the share is taken, those that it meets
};

} // namespace npar::engine
