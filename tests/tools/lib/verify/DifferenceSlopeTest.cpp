// Finite differences of functions whose slope is known: a right slope passes whatever kinks are near, a wrong one never does.
#include "tools/lib/verify/DifferenceSlope.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace npar::verify;

namespace {

/// A piecewise linear function like a sum of relus: its slope is 0 left of all `places` and grows by `jumps[i]` at `places[i]`.
struct Kinks {
  std::vector<double> places, jumps;
  double slope = 0; ///< at 0

  double operator()(double t) const {
    double value = 0;
    for (size_t i = 0; i < places.size(); ++i)
      value += jumps[i] * (std::max(0.0, t - places[i]) - std::max(0.0, -places[i]));
    return value;
  }
};

/// `count` kinks with random places in [-1, 1] and normally distributed jumps of standard deviation `size`.
Kinks spread(size_t count, uint64_t seed, double size) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> place(-1, 1);
  std::normal_distribution<double> jump(0, size);
  Kinks kinks;
  for (size_t i = 0; i < count; ++i) {
    kinks.places.push_back(place(random));
    kinks.jumps.push_back(jump(random));
    if (kinks.places.back() < 0)
      kinks.slope += kinks.jumps.back();
  }
  return kinks;
}

SlopeCheck checked(const std::function<double(double)> &function, double slope, double floor = 1e-3, int *calls = nullptr) {
  npar::engine::Result<SlopeCheck> check = checkSlope(
      [&](double distance) -> npar::engine::Result<double> {
        if (calls)
          ++*calls;
        return function(distance);
      },
      slope, floor);
  EXPECT_TRUE(check.ok());
  return *check;
}

} // namespace

TEST(DifferenceSlope, OfASmoothLoss) {
  auto loss = [](double t) { return 3 + std::sin(t + 0.5) + t * t * t; };
  int calls = 0;
  EXPECT_TRUE(checked(loss, std::cos(0.5), 1e-3, &calls).agrees());
  EXPECT_EQ(calls, 4);
  for (double wrong : {1 + 2e-5, 1 - 2e-5, 1.001, 2.0, 0.0, -1.0}) {
    SlopeCheck check = checked(loss, wrong * std::cos(0.5));
    EXPECT_TRUE(check.decided) << wrong;
    EXPECT_FALSE(check.agrees()) << wrong;
    EXPECT_NEAR(check.difference, std::cos(0.5), 1e-7);
  }
}

// Kinks at several distances on either side, alone or together with a kink of the same or the opposite sign on the other side.
TEST(DifferenceSlope, BesideAKink) {
  for (double place : {1e-3, 7e-4, 3e-4, 2e-4, 1e-4, 1e-5, 3e-6, 1e-6, 2e-7, 1e-7})
    for (double sign : {-1.0, 1.0})
      for (double other : {0.0, 1.0, -1.0}) {
        SCOPED_TRACE(testing::Message() << sign * place << " and " << other);
        auto loss = [&](double t) {
          return 1 + std::sin(t) + 0.3 * std::max(0.0, sign * (t - sign * place)) + 0.3 * other * std::max(0.0, -sign * (t + sign * place));
        };
        EXPECT_TRUE(checked(loss, 1).agrees());
        for (double wrong : {1.00005, 0.9999, 1.15, 1.3, 0.7})
          EXPECT_FALSE(checked(loss, wrong).agrees()) << wrong;
      }
}

// The loss has as many kinks as a relu of 260,000 units; their sum is smooth at no large stride.
TEST(DifferenceSlope, AmongManyKinks) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Kinks kinks = spread(260'000, seed, 2e-3);
    auto loss = [&](double t) { return 2 + 0.5 * std::sin(t) + kinks(t); };
    double right = 0.5 + kinks.slope;
    SlopeCheck check = checked(loss, right);
    EXPECT_TRUE(check.agrees()) << seed << ": " << check.error;
    for (double wrong : {1 + 3e-5, 1 - 1e-4, 1 + 1e-3})
      EXPECT_FALSE(checked(loss, wrong * right).agrees()) << seed << ", " << wrong;
  }
}

// A kink itself has no slope to compare with: no evidence, whatever the claimed slope.
TEST(DifferenceSlope, AtAKink) {
  auto loss = [](double t) { return 1 + t + 0.3 * std::fabs(t); };
  for (double slope : {0.7, 1.3, 1.1, 5.0})
    EXPECT_FALSE(checked(loss, slope).decided) << slope;
}

TEST(DifferenceSlope, WhatIsNotANumberNeverAgrees) {
  auto loss = [](double t) { return 1 + t; };
  EXPECT_FALSE(checked(loss, NAN).agrees());
  EXPECT_FALSE(checked(loss, INFINITY).agrees());
  for (double bad : {double(NAN), double(INFINITY)}) {
    EXPECT_FALSE(checked([&](double) { return bad; }, 1).agrees());
    EXPECT_FALSE(checked([&](double) { return bad; }, NAN).agrees());
    EXPECT_FALSE(checked([&](double t) { return t > 0 ? bad : t; }, 1).agrees());
  }
}

// The loss does not depend on the tensor.
TEST(DifferenceSlope, OfNothing) {
  EXPECT_TRUE(checked([](double) { return 3.0; }, 0).agrees());
  EXPECT_TRUE(checked([](double) { return 3.0; }, 0, 0).agrees());
  EXPECT_FALSE(checked([](double) { return 3.0; }, 1e-3).agrees());
}

// The slope is exactly zero and the loss is rounded: differences are pure noise, for which a relative error means nothing.
TEST(DifferenceSlope, OfNothingButRounding) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> noise(-1e-16, 1e-16);
  auto loss = [&](double) { return 2.7 * (1 + noise(random)); };
  for (int trial = 0; trial < 100; ++trial)
    EXPECT_TRUE(checked(loss, 0, 0).agrees());
  EXPECT_FALSE(checked(loss, 1e-6, 0).agrees());
}

TEST(DifferenceSlope, ALossThatFailsIsHandedOn) {
  auto failing = [](double) -> npar::engine::Result<double> { return npar::engine::Status::runFailed("no loss here"); };
  EXPECT_FALSE(checkSlope(failing, 1, 1).ok());
}
