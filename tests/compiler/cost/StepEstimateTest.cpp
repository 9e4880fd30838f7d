// The cheap mode of the cost model: each part of an estimate is the cost model's figure for it, and bounds stay below estimates.
#include "compiler/cost/StepEstimate.h"

#include <gtest/gtest.h>

namespace npar::cost {
namespace {

Machine deviceMachine() {
  Machine machine;
  machine.kind = dsl::MachineKind::Device;
  machine.cores = 1, machine.ranks = 4, machine.room = 1e6, machine.far = 1e9;
  machine.products[0] = {1000, 0, 0, 0, 0, 0, 0, 0};
  machine.link(LinkLevel::Host).bandwidth = 100, machine.link(LinkLevel::Host).latency = 1;
  machine.link(LinkLevel::Cluster).bandwidth = 10, machine.link(LinkLevel::Cluster).latency = 5;
  return machine;
}

TrainingSizes trainingSizes() {
  TrainingSizes sizes;
  sizes.batch = 16, sizes.sequence = 10, sizes.width = 20, sizes.blocks = 8;
  sizes.parameters = sizes.blockMatrices = 8 * 400, sizes.blockProducts = 3 * 8 * 400 * 10;
  return sizes;
}

PlanSizes meshOf(int64_t dp, int64_t pp, int64_t tp) {
  PlanSizes plan;
  plan.dp = dp, plan.pp = pp, plan.tp = tp, plan.micros = 16 / dp;
  return plan;
}

const Machine device = deviceMachine();

double secondsOf(const PlanSizes &plan, const TrainingSizes &model = trainingSizes()) {
  return StepEstimate(device, model, plan).seconds();
}

TEST(StepEstimate, OneRankComputesProductsAndUpdates) {
  StepEstimate one(device, trainingSizes(), meshOf(1, 1, 1));
  double products = 2 * 96000.0 * 16 / 1000, update = 3200 * (8 + 8) / 1e9;
  EXPECT_DOUBLE_EQ(one.leastSeconds(), products);
  EXPECT_DOUBLE_EQ(one.seconds(), products + update);
  EXPECT_DOUBLE_EQ(one.leastBytes(), 3200 * 8);
}

TEST(StepEstimate, TensorParallelismAddsAllReduces) {
  double once = collectiveSeconds(device, program::CollectiveKind::AllReduce, 4 * 10 * 20, GroupSpan::ofHost(4));
  double products = 2 * 96000.0 * 16 / 1000 / 4, update = 800 * (8 + 8) / 1e9;
  EXPECT_DOUBLE_EQ(secondsOf(meshOf(1, 1, 4)), products + 16 * 8 * 4 * once + update);
}

TEST(StepEstimate, FarGroupsAreSlower) {
  PlanSizes near = meshOf(4, 2, 1), far = near; // eight ranks on two hosts
  near.stagesApart = true;
  near.waits = far.waits = 1;
  EXPECT_LT(secondsOf(near), secondsOf(far));
}

/// The model of `trainingSizes` in which 2 of 8 experts of a block compute each position, with three matrices of 20 x 5.
TrainingSizes routedSizes() {
  TrainingSizes sizes = trainingSizes();
  sizes.routedLayers = 8, sizes.experts = 8, sizes.choices = 2;
  sizes.expertParameters = 8 * 8 * 300, sizes.parameters = 3200 + sizes.expertParameters;
  return sizes;
}

TEST(StepEstimate, RoundsOfRowsTakeTimeAndSaveMemory) {
  PlanSizes whole = meshOf(4, 1, 1);
  whole.ep = 4;
  PlanSizes two = whole, four = whole, again = whole, againTwo = whole;
  two.rounds = 2, four.rounds = 4, again.recompute = 1, againTwo.recompute = 1, againTwo.rounds = 2;
  StepEstimate one(device, routedSizes(), whole), inTwo(device, routedSizes(), two), inFour(device, routedSizes(), four);
  // A block keeps 10 positions' rows of both choices from 4 ranks, of 2 (20 + 5) numbers each; one micro-batch is there at a time.
  double rows = 10 * 2 * 4 * 50 * 4;
  EXPECT_DOUBLE_EQ(one.activationBytes() - inTwo.activationBytes(), 8 * rows - 1.5 * rows / 2);
  EXPECT_DOUBLE_EQ(inTwo.activationBytes() - inFour.activationBytes(), 1.5 * rows / 4);
  // Each other round moves the matrices of a rank's two experts six times; the first one repeats the products with them, 10 rows each.
  double matrices = 8 * 2 * 300.0, moves = 4 * 6 * matrices * 4 / 1e9, forward = 4 * 2 * 10 * matrices / 1000;
  EXPECT_NEAR(inTwo.seconds() - one.seconds(), forward + moves, 1e-9);
  EXPECT_NEAR(inFour.seconds() - inTwo.seconds(), 2 * moves, 1e-9);
  EXPECT_NEAR(StepEstimate(device, routedSizes(), againTwo).seconds() - StepEstimate(device, routedSizes(), again).seconds(), moves, 1e-9);
}

TEST(StepEstimate, WorkOfFewPositionsIsLittle) {
  TrainingSizes routed = trainingSizes();
  routed.blockProducts /= 4;
  StepEstimate dense(device, trainingSizes(), meshOf(4, 1, 1)), sparse(device, routed, meshOf(4, 1, 1));
  EXPECT_DOUBLE_EQ(sparse.leastSeconds(), dense.leastSeconds() / 4);
  EXPECT_DOUBLE_EQ(sparse.leastBytes(), dense.leastBytes());
}

TEST(StepEstimate, BoundsStayBelowEstimates) {
  for (int64_t dp : {1, 2, 4})
    for (int64_t pp : {1, 2, 4})
      for (int64_t tp : {1, 2, 4})
        for (int64_t recompute : {0, 1, 2})
          for (int zero : {0, 1, 3}) {
            PlanSizes plan = meshOf(dp, pp, tp);
            plan.recompute = recompute, plan.zero = zero, plan.waits = static_cast<double>(pp - 1);
            StepEstimate estimate(device, trainingSizes(), plan);
            EXPECT_LE(estimate.leastSeconds(), estimate.seconds());
            EXPECT_LE(estimate.leastBytes(), trainingSizes().parameters * 8 / static_cast<double>(pp * tp));
          }
}

TEST(StepEstimate, RecomputationKeepsLess) {
  PlanSizes plan = meshOf(1, 1, 1), every = plan, second = plan;
  every.recompute = 1, second.recompute = 2;
  auto kept = [](const PlanSizes &sizes) { return StepEstimate(device, trainingSizes(), sizes).activationBytes(); };
  EXPECT_DOUBLE_EQ(kept(plan), 17 * kept(every));
  EXPECT_DOUBLE_EQ(kept(every), 2 * kept(second));
}

} // namespace
} // namespace npar::cost
