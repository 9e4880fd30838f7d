// One part of a split: some of n items, drawn by a seed, in their own order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace npar::engine {

/// Selects one of several disjoint parts, whose sizes are shares of the whole. A part depends on nothing else.
struct Split {
  std::vector<double> shares; ///< empty: everything is one part
  uint64_t seed = 0;
  size_t part = 0;
};

/// Needs a bit for each of the n items, or nothing without a split. Thread-safe to read.
class SamplePart {
public:
  /// `file`: number of the file; each file has its own draw.
  SamplePart(int64_t n, const Split &split, uint64_t file);
  int64_t size() const { return count; }
  /// The item at a place of the part.
  int64_t operator()(int64_t place) const;

private:
  int64_t count;
  std::vector<uint64_t> bits;   ///< empty: all items
  std::vector<int64_t> counted; ///< number of items before each block of bits
};

} // namespace npar::engine
