// The search for the place whose rounding is to blame, on differences made by hand.
#include "tools/lib/verify/RoundingCause.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace npar;
using namespace npar::verify;

namespace {

/// Places whose errors add up as independent ones do.
struct Places {
  std::vector<double> errors;
  int measured = 0;

  double error(size_t first, size_t count) const {
    double squares = 0;
    for (size_t i = 0; i < errors.size(); ++i)
      squares += i >= first && i < first + count ? 0 : errors[i] * errors[i];
    return std::isfinite(squares) ? std::sqrt(squares) : INFINITY;
  }
  std::optional<RoundingCause> find() {
    engine::Result<std::optional<RoundingCause>> found =
        findRoundingCause(errors.size(), error(0, 0), [&](size_t first, size_t count) -> engine::Result<double> {
          ++measured;
          return error(first, count);
        });
    EXPECT_TRUE(found.ok());
    return *found;
  }
};

} // namespace

TEST(RoundingCause, FindsTheOneThatMakesMostOfIt) {
  for (size_t count : {1u, 2u, 7u, 100u})
    for (size_t place = 0; place < count; place += 3) {
      Places places{std::vector<double>(count, 0.001)};
      places.errors[place] = 1;
      std::optional<RoundingCause> cause = places.find();
      ASSERT_TRUE(cause) << place << " of " << count;
      EXPECT_EQ(cause->place, place);
      EXPECT_LT(cause->error, 0.02);
      EXPECT_LE(places.measured, 14);
    }
}

// Whatever overflows after it, and however many do: the first one is found.
TEST(RoundingCause, FindsTheFirstThatOverflows) {
  for (size_t count : {1u, 2u, 9u, 50u})
    for (size_t place = 0; place < count; ++place) {
      Places places{std::vector<double>(count, 0.001)};
      for (size_t i = place; i < count; i += 3)
        places.errors[i] = INFINITY;
      engine::Result<std::optional<RoundingCause>> found =
          findOverflow(count, [&](size_t first, size_t rest) -> engine::Result<double> { return places.error(first, rest); });
      ASSERT_TRUE(found.ok() && *found) << place << " of " << count;
      EXPECT_EQ((**found).place, place);
    }
  engine::Result<std::optional<RoundingCause>> none = findOverflow(4, [](size_t, size_t) -> engine::Result<double> { return INFINITY; });
  EXPECT_TRUE(none.ok() && !*none);
}

// With many equal errors two measurements show that no place is the cause. With two large errors neither is.
TEST(RoundingCause, NoneWhereNoneAloneMakesHalf) {
  Places alike{std::vector<double>(64, 0.01)};
  EXPECT_FALSE(alike.find());
  EXPECT_EQ(alike.measured, 2);
  Places two{std::vector<double>(64, 0.001)};
  two.errors[3] = two.errors[5] = 1;
  EXPECT_FALSE(two.find());
  EXPECT_FALSE((Places{{}}.find()));
}

TEST(RoundingCause, DistanceCountsLossAndGradientsTogether) {
  StepValues reference{2, {{3, 0}, {4}}};
  EXPECT_EQ(distance(reference, reference), 0);
  EXPECT_NEAR(distance({2.2, {{3, 0}, {4}}}, reference), 0.1, 1e-12);
  EXPECT_NEAR(distance({2, {{3, 0.5}, {4}}}, reference), 0.1, 1e-12);
  EXPECT_NEAR(distance({2.6, {{3, 2}, {4}}}, reference), 0.5, 1e-12);
  EXPECT_TRUE(std::isinf(distance({NAN, {{3, 0}, {4}}}, reference)));
  EXPECT_TRUE(std::isinf(distance({2, {{3, INFINITY}, {4}}}, reference)));
  EXPECT_TRUE(std::isinf(distance({2, {{3, 0}}}, reference)));
}
