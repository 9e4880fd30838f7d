// Activities that share: who is slowed, from when on, and in which order they end.
#include "compiler/cost/Activities.h"

#include <gtest/gtest.h>
#include <random>

namespace npar::cost {

TEST(Activities, AloneTheyTakeTheirTime) {
  Activities activities;
  uint32_t link = activities.addResource(1);
  activities.begin(7, 3, {{link, 1}});
  EXPECT_EQ(activities.next(), 7u);
  EXPECT_DOUBLE_EQ(activities.now(), 3);
  EXPECT_TRUE(activities.empty());
}

TEST(Activities, TwoOnALinkTakeTwiceAsLong) {
  Activities activities;
  uint32_t link = activities.addResource(1);
  activities.begin(0, 4, {{link, 1}});
  activities.begin(1, 1, {{link, 1}});
  EXPECT_EQ(activities.next(), 1u);
  EXPECT_DOUBLE_EQ(activities.now(), 2);
  EXPECT_EQ(activities.next(), 0u); // 1 s done in 2, the other 3 alone
  EXPECT_DOUBLE_EQ(activities.now(), 5);
}

TEST(Activities, OneThatComesLaterSlowsFromThenOn) {
  Activities activities;
  uint32_t link = activities.addResource(1), clock = activities.addResource(1);
  activities.begin(0, 4, {{link, 1}});
  activities.begin(1, 2, {{clock, 1}});
  EXPECT_EQ(activities.next(), 1u);
  activities.begin(2, 1, {{link, 1}}); // at 2: both at half speed
  EXPECT_EQ(activities.next(), 2u);
  EXPECT_DOUBLE_EQ(activities.now(), 4);
  EXPECT_EQ(activities.next(), 0u); // 2 s before, 1 s meanwhile, 1 s after
  EXPECT_DOUBLE_EQ(activities.now(), 5);
}

TEST(Activities, CoresAreSharedByWhatIsWanted) {
  Activities activities;
  uint32_t cores = activities.addResource(3);
  activities.begin(0, 2, {{cores, 2}});
  activities.begin(1, 2, {{cores, 4}}); // 6 of 3: half speed
  EXPECT_EQ(activities.next(), 0u);     // of two that end at once the first begun
  EXPECT_DOUBLE_EQ(activities.now(), 4);
  EXPECT_EQ(activities.next(), 1u);
  EXPECT_DOUBLE_EQ(activities.now(), 4);
}

TEST(Activities, TheScarcestResourceCounts) {
  Activities activities;
  uint32_t near = activities.addResource(1), far = activities.addResource(0.25);
  activities.begin(0, 1, {{near, 0.5}, {far, 1}});
  EXPECT_EQ(activities.next(), 0u);
  EXPECT_DOUBLE_EQ(activities.now(), 4);
}

// Whatever is begun when: a link is never idle while something is left to send, so that the last end is where the work ends.
TEST(Activities, ALinkPassesItsWorkOn) {
  std::mt19937 random(3);
  Activities activities;
  uint32_t link = activities.addResource(1);
  double work = 0;
  for (uint32_t id = 0; id < 100; ++id) {
    double seconds = 1 + random() % 5;
    work += seconds;
    activities.begin(id, seconds, {{link, 1}});
    if (random() % 3 == 0)
      activities.next();
  }
  while (!activities.empty())
    activities.next();
  EXPECT_NEAR(activities.now(), work, 1e-9 * work);
}

} // namespace npar::cost
