// The search: never worse than a named schedule under the same cap, and what caps it takes.
#include "Make.h"
#include "compiler/schedules/Validate.h"

namespace npar::schedules {

namespace {

Request request(int stages, int micros, double cap, int chunks = 0) {
  Request request;
  request.stages = stages;
  request.micros = micros;
  request.chunks = chunks;
  request.memoryCap = cap;
  // Stages of different cost, as a model's ends make them.
  for (int stage = 0; stage < stages; ++stage)
    request.costs.push_back({1.0 + (stage == 0) * 0.4, 1.1 + (stage == stages - 1) * 0.5, 0.6 + 0.05 * stage});
  request.transfer = 0.07;
  return request;
}

Simulation run(const char *kind, const Request &request) {
  Made made = makeSchedule(*findSchedule(kind), request);
  EXPECT_EQ(made.refusal, "") << kind;
  return simulate(made.schedule, request.costs, request.transfer);
}

} // namespace

TEST(ZbAuto, IsNeverWorseThanANamedScheduleUnderTheSameCap) {
  for (int stages : {1, 3, 6})
    for (int micros : {1, 3 * stages + 1})
      for (double cap : {0.0, 1.0, stages / 2.0 + 1, stages + 0.0, 2.0 * stages}) {
        Request asked = request(stages, micros, cap);
        SCOPED_TRACE(testing::Message() << stages << " stages, " << micros << " micro-batches, cap " << cap);
        Simulation found = run("zb_auto", asked);
        EXPECT_LE(most(found.peakLive), cap > 0 ? cap : micros);
        for (const ScheduleKind &kind : scheduleKinds()) {
          Made named = makeSchedule(kind, asked);
          if (!named.refusal.empty())
            continue;
          Simulation simulation = simulate(named.schedule, asked.costs, asked.transfer);
          if (cap == 0 || most(simulation.peakLive) <= cap) {
            EXPECT_LE(found.cost, simulation.cost * (1 + 1e-9)) << kind.name;
          }
        }
      }
}

// One chunk within 4 micro-batches on 8 stages: of the named schedules naive alone does that, and is far off.
TEST(ZbAuto, UsesTheMemoryThatThereIs) {
  Request asked = request(8, 24, 4, 1);
  EXPECT_LT(run("zb_auto", asked).cost, 0.5 * run("naive", asked).cost);
  Request more = request(8, 24, 8, 1);
  EXPECT_LT(run("zb_auto", more).cost, run("zb_auto", asked).cost);
}

TEST(ZbAuto, HoldsAtMost2pMinus1WithoutACapWhereNothingNamedIsBetter) { EXPECT_LE(most(run("zb_auto", request(6, 24, 0)).peakLive), 11); }

TEST(ZbAuto, TakesTheNumberOfChunksThatIsAsked) {
  for (int chunks = 1; chunks <= 4; ++chunks) {
    Schedule schedule = makeSchedule(*findSchedule("zb_auto"), request(3, 6, 3, chunks)).schedule;
    EXPECT_EQ(schedule.chunks, chunks);
    EXPECT_TRUE(validate(schedule).empty());
  }
}

TEST(ZbAuto, RefusesACapThatNoScheduleKeeps) {
  EXPECT_EQ(makeSchedule(*findSchedule("zb_auto"), request(4, 8, 0.5)).refusal,
            "schedule 'zb_auto' needs a memory cap of at least 1 forward activation, not 0.5");
}

} // namespace npar::schedules
