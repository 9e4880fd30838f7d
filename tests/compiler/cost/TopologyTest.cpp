// Levels and spans of groups: hosts of 8 devices, two hosts in a rack.
#include "compiler/cost/Topology.h"

#include <gtest/gtest.h>
#include <numeric>

namespace npar::cost {
namespace {

Machine cluster() {
  Machine machine;
  machine.kind = dsl::MachineKind::Device;
  machine.cores = 1, machine.ranks = 8;
  machine.link(LinkLevel::Host) = {200, 1, 0, 0, 0, 0};
  machine.link(LinkLevel::Cluster) = {10, 4, 0, 0, 0, 0};
  return machine;
}

std::vector<std::vector<int64_t>> hostsOf(int64_t world) {
  std::vector<std::vector<int64_t>> hosts(static_cast<size_t>((world + 7) / 8));
  for (int64_t rank = 0; rank < world; ++rank)
    hosts[static_cast<size_t>(rank / 8)].push_back(rank);
  return hosts;
}

} // namespace

TEST(Topology, TheNearestLevelJoinsTwoRanks) {
  Machine machine = cluster();
  Topology flat(machine, hostsOf(48), 48);
  EXPECT_EQ(flat.levelBetween(0, 7), LinkLevel::Host);
  EXPECT_EQ(flat.levelBetween(7, 8), LinkLevel::Cluster);
  machine.link(LinkLevel::Pair).bandwidth = 400;
  machine.link(LinkLevel::Rack).bandwidth = 50;
  machine.link(LinkLevel::Rack).hosts = 2;
  Topology deep(machine, hostsOf(48), 48);
  EXPECT_EQ(deep.levelBetween(2, 3), LinkLevel::Pair);
  EXPECT_EQ(deep.levelBetween(1, 2), LinkLevel::Host);
  EXPECT_EQ(deep.levelBetween(1, 15), LinkLevel::Rack);
  EXPECT_EQ(deep.levelBetween(15, 16), LinkLevel::Cluster);
  EXPECT_EQ(deep.spanOf({0, 1}).level, LinkLevel::Pair);
  EXPECT_EQ(deep.spanOf({0, 1, 2}).level, LinkLevel::Host);
}

TEST(Topology, AGroupOverHostsKnowsHowManyOfItStandOnEach) {
  Machine machine = cluster();
  Topology topology(machine, hostsOf(32), 32);
  GroupSpan span = topology.spanOf({0, 4, 8, 12, 16, 20, 24, 28});
  EXPECT_EQ(span.members, 8);
  EXPECT_EQ(span.level, LinkLevel::Cluster);
  EXPECT_DOUBLE_EQ(span.inside, 2);
  EXPECT_EQ(topology.spanOf({0}).members, 1);
}

TEST(Topology, WhatLeavesARackGoesOverTheLinksOfAllOfItsRanks) {
  Machine machine = cluster();
  machine.link(LinkLevel::Rack) = {100, 2, 2, 0, 0, 0, 0};
  Topology topology(machine, hostsOf(64), 64); // four racks
  std::vector<int64_t> all(64);
  std::iota(all.begin(), all.end(), 0);
  GroupSpan span = topology.spanOf(all);
  EXPECT_DOUBLE_EQ(span.inside, 16);
  // 16 x 10 of the cluster's, but no more than the 100 that a rank has inside the rack.
  EXPECT_DOUBLE_EQ(collectiveSeconds(machine, program::CollectiveKind::AllGather, 6400, span), 6 * 4 + 63.0 / 64 * 6400 / 100);
  GroupSpan few = topology.spanOf({0, 8, 16, 24});
  EXPECT_DOUBLE_EQ(few.inside, 2);
  EXPECT_EQ(topology.spanOf({0, 8}).level, LinkLevel::Rack);
  EXPECT_DOUBLE_EQ(topology.spanOf({0, 8}).inside, 1);
}

TEST(Topology, AxesOfTheMeshStandAsItsNumbers) {
  Machine machine = cluster(); // mesh dp = 4, pp = 2, tp = 4: a host holds a replica
  EXPECT_EQ(spanAlong(machine, {4, 2, 4}, {2}).level, LinkLevel::Host);
  EXPECT_EQ(spanAlong(machine, {4, 2, 4}, {1, 2}).level, LinkLevel::Host);
  GroupSpan data = spanAlong(machine, {4, 2, 4}, {0});
  EXPECT_EQ(data.level, LinkLevel::Cluster);
  EXPECT_EQ(data.members, 4);
  EXPECT_DOUBLE_EQ(data.inside, 1);
  EXPECT_DOUBLE_EQ(spanAlong(machine, {4, 2, 4}, {0, 2}).inside, 4);
}

TEST(Topology, MembersOfAHostSendOverLinksOfTheirOwn) {
  Machine machine = cluster();
  using program::CollectiveKind;
  GroupSpan one{4, LinkLevel::Cluster, 1}, two{4, LinkLevel::Cluster, 2}, many{64, LinkLevel::Cluster, 32};
  EXPECT_DOUBLE_EQ(collectiveSeconds(machine, CollectiveKind::AllGather, 400, one), 2 * 4 + 300.0 / 10);
  EXPECT_DOUBLE_EQ(collectiveSeconds(machine, CollectiveKind::AllGather, 400, two), 2 * 4 + 300.0 / 20);
  // No faster than inside the host.
  EXPECT_DOUBLE_EQ(collectiveSeconds(machine, CollectiveKind::AllGather, 6400, many), 6 * 4 + 6300.0 / 200);
  machine.link(LinkLevel::Cluster).reduce = 100;
  EXPECT_DOUBLE_EQ(collectiveSeconds(machine, CollectiveKind::AllReduce, 400, one), 2 * 4 + 4);
  std::vector<LinkUse> uses = linksOf(machine, two);
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].level, LinkLevel::Cluster);
  EXPECT_DOUBLE_EQ(uses[0].share, 1);
  EXPECT_DOUBLE_EQ(uses[1].share, 20.0 / 200);
}

} // namespace npar::cost
