// Compares the condensed graph of a fragment with the whole: the same order, and no redundant wait.
#include "engine/program/FragmentWaits.h"

#include "engine/program/StepOrder.h"
#include "engine/program/Steps.h"

#include <gtest/gtest.h>
#include <random>

namespace npar::program {
namespace {

/// Steps that wait for earlier ones at random; some are outside of the compute chain.
FragmentT randomFragment(std::mt19937 &chance) {
  FragmentT fragment;
  uint32_t count = 1 + chance() % 30;
  for (uint32_t index = 0; index < count; ++index) {
    Step step;
    if (chance() % 3 == 0)
      step.mutate_kind(StepKind::Send);
    step.mutate_first_dependency(fragment.dependencies.size());
    for (uint32_t awaited = 0; awaited < index; ++awaited)
      if (chance() % 8 == 0)
        fragment.dependencies.push_back(awaited);
    step.mutate_dependency_count(fragment.dependencies.size() - step.first_dependency());
    fragment.steps.push_back(step);
  }
  return fragment;
}

/// A random fragment, of whose steps about half are wanted, and what is left of its waits then.
struct Trial {
  explicit Trial(std::mt19937 &chance) : random(randomFragment(chance)), fragment(packed()), whole(fragment) {
    std::vector<bool> wanted(random.steps.size());
    for (size_t step = 0; step < wanted.size(); ++step)
      wanted[step] = chance() % 2;
    waits = condensedWaits(fragment, wanted);
  }
  const Fragment &packed() {
    builder.Finish(Fragment::Pack(builder, &random));
    return *flatbuffers::GetRoot<Fragment>(builder.GetBufferPointer());
  }

  flatbuffers::FlatBufferBuilder builder;
  FragmentT random;
  const Fragment &fragment;
  StepOrder whole;
  FragmentWaits waits;
};

// Two wanted steps are ordered exactly as in the whole fragment, and no wait can be removed without changing this.
TEST(FragmentWaits, CondensedAreTheSameOrderAndNoMore) {
  std::mt19937 chance(1);
  size_t found = 0;
  for (int round = 0; round < 500; ++round) {
    Trial trial(chance);
    const FragmentWaits &waits = trial.waits;
    const StepOrder &whole = trial.whole;
    auto orderWithout = [&](size_t left) {
      StepOrder order(waits.steps.size());
      for (size_t index = 0; index < waits.waits.size(); ++index)
        if (index != left)
          order.add(waits.waits[index].to, waits.waits[index].from);
      return order;
    };
    StepOrder condensed = orderWithout(waits.waits.size());
    for (uint32_t later = 0; later < waits.steps.size(); ++later)
      for (uint32_t earlier = 0; earlier < later; ++earlier)
        ASSERT_EQ(condensed.before(earlier, later), whole.before(waits.steps[earlier], waits.steps[later])) << "round " << round;
    for (size_t left = 0; left < waits.waits.size(); ++left)
      ASSERT_FALSE(orderWithout(left).before(waits.waits[left].from, waits.waits[left].to)) << "round " << round;
    found += waits.waits.size();
  }
  EXPECT_GT(found, 1000u);
}

// A step of the compute chain that is left out passes its place on to the nearest wanted steps on both sides.
TEST(FragmentWaits, CondensedKeepTheComputeChain) {
  std::mt19937 chance(2);
  for (int round = 0; round < 500; ++round) {
    Trial trial(chance);
    const FragmentWaits &waits = trial.waits;
    const StepOrder &whole = trial.whole;
    StepOrder condensed(waits.steps.size());
    for (const FragmentWaits::Wait &wait : waits.waits)
      condensed.add(wait.to, wait.from);
    auto reaches = [](const StepOrder &order, uint32_t earlier, uint32_t later) {
      return earlier == later || order.before(earlier, later);
    };
    for (uint32_t place = 0; place < waits.steps.size(); ++place) {
      bool after = false, before = false, keptAfter = false, keptBefore = false;
      for (uint32_t step = 0; step < trial.random.steps.size(); ++step) {
        bool chained = !isAsync(trial.random.steps[step]);
        after |= chained && reaches(whole, step, waits.steps[place]);
        before |= chained && reaches(whole, waits.steps[place], step);
      }
      for (uint32_t other = 0; other < waits.steps.size(); ++other) {
        keptAfter |= waits.afterEarlier[other] && reaches(condensed, other, place);
        keptBefore |= waits.beforeLater[other] && reaches(condensed, place, other);
      }
      ASSERT_EQ(keptAfter, after) << "round " << round;
      ASSERT_EQ(keptBefore, before) << "round " << round;
    }
  }
}

} // namespace
} // namespace npar::program
