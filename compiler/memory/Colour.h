// Places live intervals in memory and instances in slots: the two colourings that memory is allocated by. No MLIR.
#pragma once

#include <cstdint>
#include <vector>

namespace npar::memory {

constexpr uint64_t alignment = 64;
inline uint64_t aligned(uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// A buffer that is live from its first to its last step, both included.
struct Interval {
  int64_t first = 0, last = 0;
  uint64_t bytes = 0;
};

struct Placement {
  std::vector<uint64_t> offsets; ///< per interval, multiples of 64
  uint64_t total = 0;            ///< multiple of 64
};

/// Offsets such that intervals that meet in time do not meet in memory. Best fit into the gaps between those placed before, once by
/// descending size and once by ascending begin; the smaller total wins (Pisarchyk and Lee 2020, "Efficient memory management for deep
/// neural net inference"). The total is at least the largest sum of simultaneously live bytes and seldom more than a few percent above it.
Placement placeIntervals(const std::vector<Interval> &intervals);

/// The largest number of instances [first, last] that are live at once.
uint32_t peakOf(const std::vector<Interval> &instances);

/// A slot per instance such that instances in one slot are disjoint; of the free slots, the one that has been free longest (so that more
/// slots mean more slack). `slots` must be at least `peakOf`. Instances must be sorted by `first`.
std::vector<uint32_t> assignSlots(const std::vector<Interval> &instances, uint32_t slots);

} // namespace npar::memory
