// The cost model's formulas with round numbers.
#include "compiler/cost/CostModel.h"
#include "compiler/cost/Exchange.h"

#include <gtest/gtest.h>

namespace npar::cost {

Machine roundMachine() {
  Machine machine;
  machine.cores = machine.ranks = 1;
  machine.near = 20, machine.nearSize = 100, machine.far = 10, machine.move = 5;
  machine.operation = 2, machine.function = 3;
  machine.link(dsl::LinkLevel::Host).bandwidth = 5, machine.link(dsl::LinkLevel::Host).latency = 2;
  machine.products[0] = {100, 10, 20, 40, 0, 0, 0, 0};
  machine.products[1] = {400, 0, 0, 0, 0, 0, 0, 0};
  machine.attentions[0] = {50, 4};
  machine.gradients[0] = {25, 8};
  return machine;
}

const Machine machine = roundMachine();

Operation operationOf(Work work, double operations, double bytes = 0) {
  Operation operation;
  operation.work = work, operation.operations = operations, operation.bytes = bytes;
  return operation;
}

TEST(CostModel, AProductIsSlowerTheNarrowerItIs) {
  Operation product = operationOf(Work::Product, 1000);
  EXPECT_DOUBLE_EQ(workSeconds(machine, product), 10); // sides unknown
  product.m = 10, product.n = 40, product.k = 80;
  EXPECT_DOUBLE_EQ(workSeconds(machine, product), 10 * (1 + 1 + 0.5 + 0.5));
  product.type = program::ElementType::BF16;
  EXPECT_DOUBLE_EQ(workSeconds(machine, product), 2.5);
  product.type = program::ElementType::F64; // a kernel
  EXPECT_DOUBLE_EQ(workSeconds(machine, product), 2 * 1000 * 2);
}

TEST(CostModel, Tf32HasFiguresOfItsOwnOrThoseOfFloat32) {
  Machine device = machine;
  Operation product = operationOf(Work::Product, 1000);
  product.tf32 = true;
  EXPECT_DOUBLE_EQ(workSeconds(device, product), 10);
  EXPECT_DOUBLE_EQ(productPeak(device, program::ElementType::F32, true), 100);
  device.tf32 = {200, 0, 0, 0, 0, 0, 0, 300};
  EXPECT_DOUBLE_EQ(workSeconds(device, product), 5);
  EXPECT_DOUBLE_EQ(productPeak(device, program::ElementType::F32, true), 200);
  EXPECT_DOUBLE_EQ(statedPeak(device, program::ElementType::F32, true), 300);
  product.tf32 = false;
  EXPECT_DOUBLE_EQ(workSeconds(device, product), 10);
}

TEST(CostModel, UnitsComputeWholeTilesInRounds) {
  Machine device = machine;
  device.units = 10;
  device.products[0] = {100, 0, 0, 0, 40, 20, 0, 0};
  Operation product = operationOf(Work::Product, 2 * 40 * 200 * 5);
  product.m = 40, product.n = 200, product.k = 5;
  EXPECT_DOUBLE_EQ(workSeconds(device, product), product.operations / 100); // one round of 10 tiles
  product.n = 220, product.operations = 2 * 40 * 220 * 5;                   // 11 tiles: two rounds, or turned 2 x 6 = 12
  EXPECT_DOUBLE_EQ(workSeconds(device, product), 2.0 * 10 * 40 * 20 / (40 * 220) * product.operations / 100);
  device.products[0].halved = 0.8; // 22 tiles of 20 x 20: three rounds of half the size
  EXPECT_DOUBLE_EQ(workSeconds(device, product), 3.0 * 10 * 20 * 20 / (40 * 220) / 0.8 * product.operations / 100);
  device.products[0].halved = 0.9; // 44 tiles of 20 x 10: five rounds of a quarter
  EXPECT_DOUBLE_EQ(workSeconds(device, product), 5.0 * 10 * 20 * 10 / (40 * 220) / (0.9 * 0.9) * product.operations / 100);
  product.m = 200, product.n = 40, product.operations = 2 * 40 * 200 * 5; // the tile turned
  EXPECT_DOUBLE_EQ(workSeconds(device, product), product.operations / 100);
}

TEST(CostModel, AttentionAndItsGradientHaveRatesOfTheirOwn) {
  Operation attention = operationOf(Work::Attention, 100);
  attention.m = 8;
  EXPECT_DOUBLE_EQ(workSeconds(machine, attention), 3);
  attention.work = Work::AttentionGradient;
  EXPECT_DOUBLE_EQ(workSeconds(machine, attention), 8);
}

TEST(CostModel, AKernelTakesOperationsFunctionsAndBytes) {
  Operation kernel = operationOf(Work::Kernel, 10, 60);
  EXPECT_DOUBLE_EQ(workSeconds(machine, kernel), 20 + 3);
  kernel.functions = 4;
  EXPECT_DOUBLE_EQ(workSeconds(machine, kernel), 20 + 12 + 3);
  kernel.bytes = 130; // 30 of them are far
  EXPECT_DOUBLE_EQ(workSeconds(machine, kernel), 20 + 12 + 5 + 3);
  kernel.type = program::ElementType::F64; // half as many in a vector
  EXPECT_DOUBLE_EQ(workSeconds(machine, kernel), 2 * 32 + 5 + 3);
}

TEST(CostModel, ACoresOwnCacheKeepsTheFirstBytes) {
  Machine cached = machine;
  cached.cache.bandwidth = 40, cached.cache.size = 60;
  EXPECT_DOUBLE_EQ(workSeconds(cached, operationOf(Work::Kernel, 0, 40)), 1);
  EXPECT_DOUBLE_EQ(workSeconds(cached, operationOf(Work::Kernel, 0, 80)), 1.5 + 1);
  EXPECT_DOUBLE_EQ(workSeconds(cached, operationOf(Work::Kernel, 0, 130)), 1.5 + 2 + 3);
  cached.nearSize = 50; // less than the core's own: the others are far
  EXPECT_DOUBLE_EQ(workSeconds(cached, operationOf(Work::Kernel, 0, 80)), 1.5 + 2);
}

TEST(CostModel, ZeroesAndCopiesTakeTheirBytes) { EXPECT_DOUBLE_EQ(workSeconds(machine, operationOf(Work::Move, 0, 50)), 10); }

TEST(CostModel, OtherCoresTakePartsOfLongSteps) {
  Machine two = machine;
  two.cores = 2, two.spread = 0.8, two.grain = 10, two.launch = 1;
  EXPECT_DOUBLE_EQ(capacityOf(two), 1.8);
  Duration none = spreadOverCores(two, 0), half = spreadOverCores(two, 10), most = spreadOverCores(two, 1e9);
  EXPECT_DOUBLE_EQ(none.seconds, 0);
  EXPECT_DOUBLE_EQ(half.cores, 1.4);
  EXPECT_DOUBLE_EQ(half.seconds, 10 / 1.4);
  EXPECT_NEAR(most.cores, 1.8, 1e-6);
  EXPECT_DOUBLE_EQ(stepDuration(two, operationOf(Work::Move, 0, 50)).seconds, 1 + 10 / 1.4);
  EXPECT_DOUBLE_EQ(stepDuration(two, operationOf(Work::Move, 0, 0)).seconds, 1);
  EXPECT_DOUBLE_EQ(spreadOverCores(machine, 10).seconds, 10); // one core
}

TEST(CostModel, AMessageTakesLatencyAndBytes) { EXPECT_DOUBLE_EQ(transferSeconds(machine, 50), 12); }

TEST(CostModel, Collectives) {
  // 2 latencies, 3 of 4 parts: 2 * 2 + 30 / 5
  EXPECT_DOUBLE_EQ(collectiveSeconds(machine, npar::program::CollectiveKind::AllGather, 40, GroupSpan::ofHost(4)), 10);
  EXPECT_DOUBLE_EQ(collectiveSeconds(machine, npar::program::CollectiveKind::ReduceScatter, 40, GroupSpan::ofHost(4)), 10);
  EXPECT_DOUBLE_EQ(collectiveSeconds(machine, npar::program::CollectiveKind::AllReduce, 40, GroupSpan::ofHost(4)), 20);
  EXPECT_DOUBLE_EQ(collectiveSeconds(machine, npar::program::CollectiveKind::AllReduce, 40, GroupSpan::ofHost(1)), 0);
}

TEST(CostModel, RingsTreesAndTheNetwork) {
  using npar::program::CollectiveKind;
  Machine one = machine;
  dsl::LinkFigures &host = one.link(LinkLevel::Host), &cluster = one.link(LinkLevel::Cluster);
  host.bandwidth = 100, host.latency = 9, host.hop = 1;
  cluster.bandwidth = 5, cluster.latency = 8, cluster.hop = 4;
  GroupSpan span{32, LinkLevel::Cluster, 2}; // 16 hosts with two members each, which send over 2 x 5 bytes/s
  // 15 hops between hosts and 16 inside, 31 of 32 parts
  EXPECT_DOUBLE_EQ(collectiveSeconds(one, CollectiveKind::AllGather, 320, span), 8 + 15 * 4 + 16 + 310.0 / 10);
  EXPECT_DOUBLE_EQ(collectiveSeconds(one, CollectiveKind::ReduceScatter, 320, span), 8 + 15 * 4 + 16 + 310.0 / 10);
  EXPECT_DOUBLE_EQ(collectiveSeconds(one, CollectiveKind::AllReduce, 320, span), 8 + 2 * (15 * 4 + 16 + 310.0 / 10));
  // messages of different ranks do not wait for each other
  EXPECT_DOUBLE_EQ(collectiveSeconds(one, CollectiveKind::AllToAll, 320, span), 5 * 8 + 300.0 / 5);
  EXPECT_DOUBLE_EQ(collectiveSeconds(one, CollectiveKind::AllGather, 400, GroupSpan::ofHost(4)), 9 + 3 * 1 + 300.0 / 100);
  cluster.tree = 0.8; // 4 hops between 16 hosts, one inside
  EXPECT_DOUBLE_EQ(collectiveSeconds(one, CollectiveKind::AllReduce, 320, span), 8 + 2 * (4 * 4 + 1 + 320.0 / 8));
  EXPECT_DOUBLE_EQ(collectiveSeconds(one, CollectiveKind::AllGather, 320, span), 8 + 15 * 4 + 16 + 310.0 / 10); // these have no trees
  // a large vector goes round the ring
  EXPECT_DOUBLE_EQ(collectiveSeconds(one, CollectiveKind::AllReduce, 32000, span), 8 + 2 * (15 * 4 + 16 + 31000.0 / 10));
  cluster.reduce = 10;
  EXPECT_DOUBLE_EQ(collectiveSeconds(one, CollectiveKind::AllReduce, 320, span), 2 * 8 + 320.0 / 10);
}

/// Each member has other data for each, so 30 of 32 parts go over its own link between hosts, unlike in a ring.
TEST(CostModel, AnAllToAllUsesTheLinksOfBothLevels) {
  Machine one = machine;
  one.link(LinkLevel::Host).bandwidth = 100;
  one.link(LinkLevel::Cluster).bandwidth = 5, one.link(LinkLevel::Cluster).latency = 8;
  GroupSpan span{32, LinkLevel::Cluster, 2};
  ExchangedBytes bytes = exchangedBytes(320, span);
  EXPECT_DOUBLE_EQ(bytes.near, 10);
  EXPECT_DOUBLE_EQ(bytes.far, 300);
  EXPECT_DOUBLE_EQ(exchangeSeconds(one, bytes, span), 5 * 8 + 60);
  EXPECT_DOUBLE_EQ(exchangeSeconds(one, {8000, 300}, span), 5 * 8 + 80);
  std::vector<LinkUse> uses = linksOf(one, bytes, span);
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].level, LinkLevel::Cluster);
  EXPECT_DOUBLE_EQ(uses[0].share, 1);
  EXPECT_DOUBLE_EQ(uses[1].share, 0.1 / 60);
  EXPECT_EQ(linksOf(one, exchangedBytes(320, GroupSpan::ofHost(4)), GroupSpan::ofHost(4)).size(), 1u);
}

TEST(CostModel, DevicesReadTheOperandsOfProductsToo) {
  Machine device = machine;
  device.kind = dsl::MachineKind::Device;
  Operation product = operationOf(Work::Product, 1000, 50);
  EXPECT_DOUBLE_EQ(workSeconds(device, product), 10);
  product.bytes = 500;
  EXPECT_DOUBLE_EQ(workSeconds(device, product), 500.0 / 10);
  EXPECT_DOUBLE_EQ(workSeconds(machine, product), 10);
}

TEST(CostModel, TheCoresOfAStepFollowFromItsSeconds) {
  Machine four = machine;
  four.cores = 4, four.spread = 0.8, four.grain = 10, four.launch = 1;
  for (double work : {0.5, 10.0, 300.0}) {
    Duration duration = spreadOverCores(four, work);
    EXPECT_NEAR(coresOf(four, duration.seconds + four.launch), duration.cores, 1e-6) << work;
  }
  EXPECT_DOUBLE_EQ(coresOf(machine, 10), 1);
}

} // namespace npar::cost
