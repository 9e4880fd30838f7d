// Best-fit interval placement and slot assignment.
#include "compiler/memory/Colour.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace npar::memory {
namespace {

/// Places in the given order, each into the smallest gap that holds it among the intervals that it meets in time.
Placement placeInOrder(const std::vector<Interval> &intervals, const std::vector<uint32_t> &order) {
  Placement placement;
  placement.offsets.assign(intervals.size(), 0);
  std::vector<uint32_t> placed; // ascending by offset
  for (uint32_t index : order) {
    const Interval &interval = intervals[index];
    uint64_t bytes = aligned(interval.bytes);
    if (bytes == 0)
      continue;
    uint64_t end = 0, best = 0, smallest = std::numeric_limits<uint64_t>::max();
    for (uint32_t other : placed) {
      if (intervals[other].last < interval.first || interval.last < intervals[other].first)
        continue;
      uint64_t offset = placement.offsets[other];
      if (offset > end && offset - end >= bytes && offset - end < smallest) {
        smallest = offset - end;
        best = end;
      }
      end = std::max(end, offset + aligned(intervals[other].bytes));
    }
    if (smallest == std::numeric_limits<uint64_t>::max())
      best = end;
    placement.offsets[index] = best;
    placement.total = std::max(placement.total, best + bytes);
    auto place = std::upper_bound(placed.begin(), placed.end(), best,
                                  [&](uint64_t offset, uint32_t other) { return offset < placement.offsets[other]; });
    placed.insert(place, index);
  }
  return placement;
}

} // namespace

Placement placeIntervals(const std::vector<Interval> &intervals) {
  std::vector<uint32_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return intervals[a].bytes > intervals[b].bytes; });
  Placement bySize = placeInOrder(intervals, order);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return intervals[a].first < intervals[b].first; });
  Placement byBegin = placeInOrder(intervals, order);
  return byBegin.total < bySize.total ? byBegin : bySize;
}

uint32_t peakOf(const std::vector<Interval> &instances) {
  std::vector<std::pair<int64_t, int>> events;
  for (const Interval &instance : instances) {
    events.emplace_back(instance.first, 1);
    events.emplace_back(instance.last + 1, -1);
  }
  std::sort(events.begin(), events.end());
  int live = 0, peak = 0;
  for (auto [time, change] : events)
    peak = std::max(peak, live += change);
  return static_cast<uint32_t>(peak);
}

std::vector<uint32_t> assignSlots(const std::vector<Interval> &instances, uint32_t slots) {
  std::vector<int64_t> lastUse(slots, std::numeric_limits<int64_t>::min());
  std::vector<uint32_t> assigned;
  for (const Interval &instance : instances) {
    uint32_t slot = static_cast<uint32_t>(std::min_element(lastUse.begin(), lastUse.end()) - lastUse.begin());
    lastUse[slot] = instance.last;
    assigned.push_back(slot);
  }
  return assigned;
}

} // namespace npar::memory
