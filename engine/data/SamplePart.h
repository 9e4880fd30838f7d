// One part of a split: some of n things, drawn by a seed, in their own order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace npar::engine {

/// Which part of how many: disjoint parts by shares of the whole, the same whatever else is asked for.
struct Split {
  std::vector<double> shares; ///< empty: all is one part
  uint64_t seed = 0;
  size_t part = 0;
};

/// Needs a bit for each of the n things, nothing without a split. Thread-safe to read.
class SamplePart {
public:
  /// `file`: of several files each has its own draw.
  SamplePart(int64_t n, const Split &split, uint64_t file);
  int64_t size() const { return count; }
  /// The thing at a place of the part.
  int64_t operator()(int64_t place) const;

private:
  int64_t count;
  std::vector<uint64_t> bits;   ///< empty: all things
  std::vector<int64_t> counted; ///< things before each block of bits
};

} // namespace npar::engine
