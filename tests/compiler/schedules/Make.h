// Shorthands of the schedule tests.
#pragma once

#include "compiler/schedules/Simulate.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace npar::schedules {

/// The schedule of a kind, which must not refuse it. No number of chunks: its own.
inline Schedule make(const char *kind, int stages, int micros, int chunks = 0) {
  Request request;
  request.stages = stages;
  request.micros = micros;
  request.chunks = chunks;
  Made made = makeSchedule(*findSchedule(kind), request);
  EXPECT_EQ(made.refusal, "");
  return made.schedule;
}

/// Simulates with F = B = W = 1.
inline Simulation simulateEqual(const Schedule &schedule) { return simulate(schedule, std::vector<StageCost>(schedule.stages())); }

inline double most(const std::vector<double> &values) { return *std::max_element(values.begin(), values.end()); }

} // namespace npar::schedules
