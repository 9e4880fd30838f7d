// Interval placement never overlaps and stays close to the lower bound; slots never collide.
#include "compiler/memory/Colour.h"

#include <gtest/gtest.h>
#include <random>

namespace npar::memory {
namespace {

bool meet(const Interval &a, const Interval &b) { return a.first <= b.last && b.first <= a.last; }

uint64_t largestLiveSum(const std::vector<Interval> &intervals, int64_t steps) {
  uint64_t largest = 0;
  for (int64_t step = 0; step < steps; ++step) {
    uint64_t live = 0;
    for (const Interval &interval : intervals)
      live += interval.first <= step && step <= interval.last ? aligned(interval.bytes) : 0;
    largest = std::max(largest, live);
  }
  return largest;
}

TEST(Colour, ReusesMemoryOfTheDead) {
  // Two buffers of equal size one after the other share a place; a third that meets both does not.
  Placement placement = placeIntervals({{0, 1, 100}, {2, 3, 100}, {1, 2, 10}});
  EXPECT_EQ(placement.offsets[0], placement.offsets[1]);
  EXPECT_EQ(placement.total, 128u + 64u);
}

TEST(Colour, PlacesNothingOverlapping) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> intervals;
    for (int i = 0, count = 1 + random() % 60; i < count; ++i) {
      int64_t first = random() % 50;
      intervals.push_back({first, first + static_cast<int64_t>(random() % 10), random() % 5000});
    }
    Placement placement = placeIntervals(intervals);
    for (size_t i = 0; i < intervals.size(); ++i) {
      EXPECT_EQ(placement.offsets[i] % alignment, 0u);
      EXPECT_LE(placement.offsets[i] + aligned(intervals[i].bytes), placement.total);
      for (size_t j = 0; j < i; ++j)
        if (meet(intervals[i], intervals[j]) && intervals[i].bytes && intervals[j].bytes) {
          EXPECT_TRUE(placement.offsets[i] + intervals[i].bytes <= placement.offsets[j] ||
                      placement.offsets[j] + intervals[j].bytes <= placement.offsets[i]);
        }
    }
    EXPECT_LE(placement.total, largestLiveSum(intervals, 70) * 1.35);
  }
}

TEST(Colour, AssignsSlotsToDisjointInstances) {
  std::mt19937 random(2);
  for (int round = 0; round < 100; ++round) {
    std::vector<Interval> instances;
    int64_t first = 0;
    for (int i = 0; i < 30; ++i) {
      first += random() % 3;
      instances.push_back({first, first + static_cast<int64_t>(random() % 8), 0});
    }
    for (uint32_t spare : {0u, 1u, 3u}) {
      uint32_t slots = peakOf(instances) + spare;
      std::vector<uint32_t> assigned = assignSlots(instances, slots);
      for (size_t i = 0; i < instances.size(); ++i) {
        EXPECT_LT(assigned[i], slots);
        for (size_t j = 0; j < i; ++j)
          EXPECT_FALSE(assigned[i] == assigned[j] && meet(instances[i], instances[j]));
      }
    }
  }
}

} // namespace
} // namespace npar::memory
