// Corrections of estimated times: which compiled plans count for a candidate.
#include "tools/lib/planner/search/TimeCorrections.h"

#include <gtest/gtest.h>

namespace npar::planner {
namespace {

Candidate planOf(int64_t cp, Context context, int64_t micro = 1) {
  Candidate plan;
  plan.dp = 8 / cp, plan.cp = cp, plan.context = context, plan.micro = micro;
  return plan;
}

TEST(TimeCorrections, WithoutCompiledPlansThereAreNone) {
  TimeCorrections corrections;
  EXPECT_EQ(corrections.ofFamily(planOf(1, Context::None)), 1);
  EXPECT_FALSE(corrections.ofNeighbours(planOf(1, Context::None)));
}

// Each way of context parallelism is a family of its own; a family without a compiled plan has the mean of its schedule.
TEST(TimeCorrections, AFamilyHasTheMeanOfItsPlans) {
  TimeCorrections corrections;
  corrections.add(planOf(1, Context::None, 1), 1.25);
  EXPECT_EQ(corrections.ofFamily(planOf(2, Context::Ring)), 1.25);
  corrections.add(planOf(2, Context::Zigzag, 1), 2);
  corrections.add(planOf(2, Context::Zigzag, 4), 3);
  EXPECT_EQ(corrections.ofFamily(planOf(1, Context::None, 2)), 1.25);
  EXPECT_EQ(corrections.ofFamily(planOf(4, Context::Zigzag)), 2.5);
  EXPECT_EQ(corrections.ofFamily(planOf(4, Context::Ring)), (1.25 + 2 + 3) / 3);
}

// The effect of a setting is measured on one mesh and expected on the others: a neighbour counts with it.
TEST(TimeCorrections, TheEffectOfASettingIsCarriedOver) {
  TimeCorrections corrections;
  corrections.add(planOf(2, Context::Zigzag), 1);
  corrections.add(planOf(2, Context::Ring), 1.5);
  corrections.add(planOf(4, Context::Zigzag), 2);
  EXPECT_EQ(corrections.effect(planOf(4, Context::Zigzag), planOf(4, Context::Ring)), 1.5);
  EXPECT_DOUBLE_EQ(*corrections.effect(planOf(4, Context::Ring), planOf(4, Context::Zigzag)), 1 / 1.5);
  EXPECT_EQ(corrections.ofNeighbours(planOf(4, Context::Ring))->ratio, 2 * 1.5); // not the plan of another mesh
  EXPECT_TRUE(corrections.ofNeighbours(planOf(4, Context::Ring))->isKnown);
  EXPECT_FALSE(corrections.ofNeighbours(planOf(4, Context::Ulysses))->isKnown);
  EXPECT_FALSE(corrections.ofNeighbours(planOf(8, Context::Ring, 4)));
}

// The effect of a schedule depends on the rest of the plan, but is known if only the number of chunks or the limit differs.
TEST(TimeCorrections, SchedulesHaveNoEffect) {
  Candidate one, other, third;
  one.pp = other.pp = third.pp = 8;
  one.schedule = schedules::findSchedule("1f1b"), other.schedule = third.schedule = schedules::findSchedule("interleaved");
  other.chunks = 2, third.chunks = 3;
  TimeCorrections corrections;
  corrections.add(one, 2);
  EXPECT_FALSE(corrections.ofNeighbours(other)->isKnown);
  corrections.add(other, 3);
  EXPECT_FALSE(corrections.effect(one, other));
  EXPECT_TRUE(corrections.ofNeighbours(third)->isKnown);
}

} // namespace
} // namespace npar::planner
