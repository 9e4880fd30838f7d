// Bubble rates of the zero-bubble paper (Qi et al. 2023, table 5), from measured times of models with 1.5B and 14.6B parameters.
#include "Make.h"

#include <iostream>

namespace npar::schedules {

namespace {

struct Row {
  int stages, micros;
  double forward, backward, weight, transfer; ///< milliseconds
  double oneFOneB, interleaved, zbH1, zbH2, zb1p, zb2p;
};

const Row rows[] = {
    {8, 24, 18.522, 18.086, 9.337, 0.601, 0.2431, 0.1055, 0.1585, 0.1083, 0.1585, 0.0433},
    {8, 32, 18.513, 18.086, 9.331, 0.626, 0.1985, 0.0818, 0.1242, 0.0837, 0.1242, 0.0039},
    {8, 64, 18.546, 18.097, 9.321, 0.762, 0.1240, 0.0443, 0.0674, 0.0444, 0.0674, 0.0026},
    {16, 48, 11.347, 11.248, 8.132, 0.377, 0.2552, 0.1104, 0.1397, 0.0672, 0.1397, 0.0066},
    {16, 64, 11.307, 11.254, 8.101, 0.379, 0.2082, 0.0852, 0.1088, 0.0516, 0.1088, 0.0054},
    {16, 128, 11.325, 11.308, 8.109, 0.378, 0.1251, 0.0445, 0.0576, 0.0266, 0.0576, 0.0028},
};

Simulation run(const char *kind, const Row &row, int chunks, double cap) {
  Request request;
  request.stages = row.stages;
  request.micros = row.micros;
  request.chunks = chunks;
  request.costs.assign(row.stages, {row.forward, row.backward, row.weight});
  request.transfer = row.transfer;
  request.memoryCap = cap;
  Made made = makeSchedule(*findSchedule(kind), request);
  EXPECT_EQ(made.refusal, "");
  return simulate(made.schedule, request.costs, request.transfer);
}

} // namespace

TEST(PublishedRates, OfNamedSchedules) {
  for (const Row &row : rows) {
    SCOPED_TRACE(testing::Message() << row.stages << " stages, " << row.micros << " micro-batches");
    EXPECT_NEAR(run("1f1b", row, 1, 0).bubbleRate, row.oneFOneB, 1e-4);
    EXPECT_NEAR(run("zb_h1", row, 1, 0).bubbleRate, row.zbH1, 1e-4);
    EXPECT_NEAR(run("zb_h2", row, 1, 0).bubbleRate, row.zbH2, 1e-4);
    EXPECT_NEAR(run("interleaved", row, 3, 0).bubbleRate, row.interleaved, 4e-3);
  }
}

TEST(PublishedRates, TheSearchIsAsGoodAsZb2pAndZb1p) {
  for (const Row &row : rows) {
    SCOPED_TRACE(testing::Message() << row.stages << " stages, " << row.micros << " micro-batches");
    Simulation twice = run("zb_auto", row, 0, 2 * row.stages - 1);
    EXPECT_LE(twice.bubbleRate, row.zb2p + 5e-3);
    EXPECT_LE(most(twice.peakLive), 2 * row.stages - 1);
    Simulation once = run("zb_auto", row, 0, row.stages);
    EXPECT_LE(once.bubbleRate, row.zb1p);
    EXPECT_LE(most(once.peakLive), row.stages);
    std::cout << row.stages << " x " << row.micros << ": zb_auto " << twice.bubbleRate << " (ZB-2p " << row.zb2p
              << "), with the memory of 1F1B " << once.bubbleRate << " (ZB-1p " << row.zb1p << ")\n";
  }
}

} // namespace npar::schedules
