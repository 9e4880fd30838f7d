// Levels and spans of groups: hosts of 8 devices, two hosts in a rack.
#include "compiler/cost/Topology.h"

#include "dsl/machine/Hosts.h"

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

/// Two hosts of 8 and two of 4 devices, whose links are half as fast; between them links of 5 bytes/s.
Machine uneven() {
  Machine large = cluster(), small = cluster(), both;
  large.name = "large", small.name = "small";
  large.price = 30, small.price = 10;
  small.ranks = 4;
  small.link(LinkLevel::Host).bandwidth = 100, small.link(LinkLevel::Host).latency = 3;
  both.link(LinkLevel::Cluster) = {5, 7, 0, 0, 0, 0};
  both.kinds = {{"large", 2, large}, {"small", 2, small}};
  dsl::joinKinds(both);
  return both;
}

std::vector<std::vector<int64_t>> unevenHosts() {
  return {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}, {16, 17, 18, 19}, {20, 21, 22, 23}};
}

} // namespace

TEST(Topology, KindsOfHostsFillUpInOrder) {
  Machine machine = uneven();
  EXPECT_EQ(dsl::hostCount(machine), 4);
  EXPECT_EQ(dsl::placeCount(machine), 24);
  EXPECT_EQ(dsl::placeAt(machine, 15).host, 1);
  EXPECT_EQ(dsl::placeAt(machine, 16).host, 2);
  EXPECT_EQ(dsl::placeAt(machine, 23).slot, 3);
  std::vector<int64_t> hosts;
  for (int64_t ranks : {1, 8, 9, 16, 17, 20, 21, 24})
    hosts.push_back(dsl::hostsFor(machine, ranks));
  EXPECT_EQ(hosts, (std::vector<int64_t>{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(dsl::placesOf(machine, 3), 20);
  EXPECT_EQ(dsl::kindOfHost(machine, 1), 0u);
  EXPECT_EQ(dsl::kindOfHost(machine, 2), 1u);
  EXPECT_DOUBLE_EQ(machine.ranks, 4);
  EXPECT_DOUBLE_EQ(machine.price, 20);
  Machine alike = cluster();
  EXPECT_EQ(dsl::hostsFor(alike, 17), 3);
  EXPECT_EQ(dsl::placesOf(alike, 3), 24);
  EXPECT_EQ(dsl::placeCount(alike), 0);
}

/// Groups inside a kind use its own links, groups across kinds the links in the file. Inside a host, the latter are as slow as the slower
/// kind.
TEST(Topology, LinksOfKinds) {
  Machine machine = uneven();
  Topology topology(machine, unevenHosts(), 24);
  auto gather = [&](const std::vector<int64_t> &ranks) {
    return collectiveSeconds(topology.machineJoining(ranks), program::CollectiveKind::AllGather, 400, topology.spanOf(ranks));
  };
  EXPECT_DOUBLE_EQ(gather({0, 1, 2, 3}), 2 * 1 + 300.0 / 200);
  EXPECT_DOUBLE_EQ(gather({16, 17, 18, 19}), 2 * 3 + 300.0 / 100);
  EXPECT_DOUBLE_EQ(gather({0, 8}), 4 + 200.0 / 10);
  EXPECT_DOUBLE_EQ(gather({8, 16}), 7 + 200.0 / 5);
  EXPECT_EQ(topology.levelBetween(15, 16), LinkLevel::Cluster);
  EXPECT_EQ(topology.levelBetween(16, 19), LinkLevel::Host);
  EXPECT_EQ(topology.machineOf(15).name, "large");
  EXPECT_EQ(topology.machineOf(16).name, "small");
  EXPECT_EQ(topology.firstOfKinds({3, 5, 17, 20}), (std::vector<int64_t>{3, 17}));
  EXPECT_DOUBLE_EQ(machine.link(LinkLevel::Host).bandwidth, 100);
  EXPECT_DOUBLE_EQ(machine.link(LinkLevel::Host).latency, 3);
}

/// Racks of two hosts begin with each kind: hosts 1 to 4 of four of the second kind, after one of the first.
TEST(Topology, RacksBeginAnewWithEachKind) {
  Machine machine = uneven();
  machine.kinds[0].hosts = 1, machine.kinds[1].hosts = 4;
  machine.kinds[1].machine.link(LinkLevel::Rack) = {50, 2, 2, 0, 0, 0, 0};
  Topology topology(machine, {{0}, {1}, {2}, {3}, {4}}, 5);
  EXPECT_EQ(topology.levelBetween(0, 1), LinkLevel::Cluster);
  EXPECT_EQ(topology.levelBetween(1, 2), LinkLevel::Rack);
  EXPECT_EQ(topology.levelBetween(2, 3), LinkLevel::Cluster);
  EXPECT_EQ(topology.levelBetween(3, 4), LinkLevel::Rack);
}

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
