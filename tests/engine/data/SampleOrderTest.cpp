// The order of samples over epochs, files and parts: each epoch complete, each part disjoint, every batch a function of its step.
#include "engine/data/SampleOrder.h"
#include "engine/data/SamplePart.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace npar::testing {
namespace {

using namespace engine;

OrderSettings settingsOf(std::vector<int64_t> counts, int64_t rows, LastBatch last, Order order = Order::Shuffled) {
  return {order, last, 7, std::move(counts), {}, rows};
}

/// (file, sample) of the places that do not fill up.
std::vector<std::pair<int32_t, int64_t>> samplesOf(const SampleOrder &order, int64_t first, int64_t steps) {
  std::vector<std::pair<int32_t, int64_t>> result;
  for (int64_t step = first; step < first + steps; ++step)
    for (const SamplePlace &place : order.batch(step))
      if (!place.fills())
        result.emplace_back(place.file, place.sample);
  return result;
}

/// An epoch of ten samples in batches of four: with the rest filled up each sample comes once, with the rest dropped eight of them.
TEST(SampleOrder, theLastBatchOfAnEpochIsJoinedDroppedOrFilledUp) {
  SampleOrder joined(settingsOf({10}, 4, LastBatch::Join)), dropped(settingsOf({10}, 4, LastBatch::Drop)),
      padded(settingsOf({10}, 4, LastBatch::Pad));
  EXPECT_EQ(joined.position(3), 12);
  EXPECT_EQ(dropped.position(2), 10);
  EXPECT_EQ(dropped.position(5), 24);
  EXPECT_EQ(padded.position(2), 8);
  EXPECT_EQ(padded.position(3), 10);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    auto all = samplesOf(padded, 3 * epoch, 3), some = samplesOf(dropped, 2 * epoch, 2);
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), 10u);
    EXPECT_EQ(all.size(), 10u) << "two places of the last batch fill it up";
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << "the same permutation, cut short";
    EXPECT_EQ(some.size(), 8u);
  }
  EXPECT_NE(samplesOf(padded, 0, 3), samplesOf(padded, 3, 3)) << "each epoch has its own permutation";
  auto sequence = samplesOf(SampleOrder(settingsOf({2, 0, 3}, 5, LastBatch::Drop, Order::Sequential)), 0, 1);
  EXPECT_EQ(sequence, (std::vector<std::pair<int32_t, int64_t>>{{0, 0}, {0, 1}, {2, 0}, {2, 1}, {2, 2}}));
}

/// A training that stopped at any step resumes at its position with batches of another size; later epochs are as if it had begun with them.
TEST(SampleOrder, goesOnInTheMiddleOfAnEpoch) {
  for (LastBatch last : {LastBatch::Join, LastBatch::Drop, LastBatch::Pad})
    for (int64_t done = 0; done < 9; ++done) {
      SampleOrder before(settingsOf({10}, 4, last)), same(settingsOf({10}, 4, last)), other(settingsOf({10}, 3, last));
      int64_t position = before.position(done);
      same.goOnFrom(done, position);
      for (int64_t step = done; step < done + 9; ++step)
        EXPECT_EQ(same.batch(step), before.batch(step)) << done;
      other.goOnFrom(done, position);
      EXPECT_EQ(other.position(done), position);
      SampleOrder whole(settingsOf({10}, 1, last));
      int64_t next = whole.position(0);
      for (; whole.position(next) < position; ++next)
        ;
      EXPECT_EQ(samplesOf(other, done, 1), samplesOf(whole, next, static_cast<int64_t>(samplesOf(other, done, 1).size())));
    }
}

TEST(SampleOrder, weightsShareOutThePlacesEvenly) {
  OrderSettings settings = settingsOf({5, 100}, 4, LastBatch::Join);
  settings.weights = {3, 1};
  SampleOrder order(settings);
  std::map<std::pair<int32_t, int64_t>, int> seen;
  for (int64_t step = 0; step < 100; ++step) {
    auto batch = samplesOf(order, step, 1);
    EXPECT_EQ(std::count_if(batch.begin(), batch.end(), [](const auto &place) { return place.first == 0; }), 3);
    for (const auto &place : batch)
      ++seen[place];
  }
  for (int64_t sample = 0; sample < 5; ++sample)
    EXPECT_EQ((seen[{0, sample}]), 60) << "300 places for 5 samples: each as often";
  EXPECT_EQ(seen.size(), 105u);
}

TEST(SamplePart, partsAreDisjointAndEverything) {
  for (int64_t n : {1, 2, 10, 64, 1000, 4097}) {
    std::set<int64_t> seen;
    int64_t sizes = 0;
    for (size_t part = 0; part < 3; ++part) {
      SamplePart chosen(n, {{0.7, 0.2, 0.1}, 42, part}, 0);
      int64_t before = -1;
      for (int64_t place = 0; place < chosen.size(); ++place) {
        int64_t thing = chosen(place);
        ASSERT_TRUE(thing > before && thing < n) << "in the data's own order";
        seen.insert(before = thing);
      }
      sizes += chosen.size();
    }
    EXPECT_EQ(sizes, n);
    EXPECT_EQ(static_cast<int64_t>(seen.size()), n);
  }
  SamplePart first(1000, {{0.5, 0.5}, 42, 0}, 0), other(1000, {{0.5, 0.5}, 43, 0}, 0), file(1000, {{0.5, 0.5}, 42, 0}, 1);
  auto same = [&](const SamplePart &part) {
    int64_t equal = 0;
    for (int64_t i = 0; i < 500; ++i)
      equal += part(i) == first(i);
    return equal;
  };
  EXPECT_EQ(first.size(), 500);
  EXPECT_LT(same(other), 250) << "the seed chooses";
  EXPECT_LT(same(file), 250) << "so does the file";
  EXPECT_EQ(SamplePart(10, {}, 0)(7), 7) << "without a split everything";
}

} // namespace
} // namespace npar::testing
