// Compares the traffic between hosts with numbers worked out by hand.
#include "engine/show/HostTraffic.h"
#include "engine/comm/process/Geometry.h"
#include "engine/json/Json.h"
#include "tests/engine/show/Packed.h"

#include <gtest/gtest.h>
#include <random>

using namespace npar;
using namespace npar::program;
using namespace npar::show;

namespace {

/// A program of one class whose update does `collective` once, over all axes of the mesh.
ProgramT single(const std::vector<std::pair<std::string, uint32_t>> &mesh, CollectiveT collective) {
  ProgramT program = emptyProgram(mesh, 1);
  for (uint32_t axis = 0; collective.axes.empty() || axis < mesh.size(); ++axis)
    collective.axes.push_back(axis);
  program.collectives.push_back(std::make_unique<CollectiveT>(collective));
  RankClassT &rankClass = addClass(program, "all", {}, 1024);
  uint32_t update = addFragment(rankClass, "U", Phase::Update);
  addStep(program, rankClass, update, StepKind::Collective, 0, {{0, 0, 64}}, {{0, 64, 64}}, {}, "collective");
  addTask(rankClass, update, 0);
  return program;
}

HostTraffic count(const ProgramT &program, int64_t hosts, const std::string &place = "") {
  Packed packed(program);
  PlaceWords words;
  if (!place.empty())
    words = *readPlace(place);
  int64_t world = 1;
  for (const auto &axis : program.mesh)
    world *= axis->size;
  auto places = placeOnHosts(packed.root(), words, std::vector<HostRoom>(static_cast<size_t>(hosts), {"h", world / hosts}));
  EXPECT_TRUE(places.ok()) << places.status().message();
  return hostTraffic(packed.root(), words, *places);
}

std::string bytesOf(const HostTraffic &traffic) { return std::to_string(traffic.all.inside) + " " + std::to_string(traffic.all.between); }

CollectiveT collective(CollectiveKind kind, uint64_t count) {
  CollectiveT result;
  result.kind = kind, result.count = count, result.type = ElementType::F32;
  result.outer = result.inner = 1, result.split = static_cast<int64_t>(count);
  return result;
}

// Four ranks, eight floats (32 bytes). A ring: 3 / 4 of the vector from each of four ranks are 96 bytes, twice for an all-reduce. On two
// hosts of two ranks each rank has one peer on its host and two on the other: a third stays inside.
TEST(HostTraffic, CountsTheVolumeOfARing) {
  std::vector<std::pair<std::string, uint32_t>> mesh = {{"dp", 4}};
  EXPECT_EQ(bytesOf(count(single(mesh, collective(CollectiveKind::AllReduce, 8)), 1)), "192 0");
  EXPECT_EQ(bytesOf(count(single(mesh, collective(CollectiveKind::AllReduce, 8)), 2)), "64 128");
  EXPECT_EQ(bytesOf(count(single(mesh, collective(CollectiveKind::AllReduce, 8)), 4)), "0 192");
  EXPECT_EQ(bytesOf(count(single(mesh, collective(CollectiveKind::AllGather, 2)), 2)), "32 64");
  EXPECT_EQ(bytesOf(count(single(mesh, collective(CollectiveKind::ReduceScatter, 8)), 2)), "32 64");
  EXPECT_EQ(bytesOf(count(single(mesh, collective(CollectiveKind::AllToAll, 8)), 2)), "32 64");
}

// Rows of experts: a quarter of all places at a balanced load.
TEST(HostTraffic, CountsRowsOfABalancedLoadAndOfTheWorstCase) {
  CollectiveT rows = collective(CollectiveKind::AllToAll, 8);
  rows.filled = 0.25;
  HostTraffic traffic = count(single({{"ep", 4}}, rows), 2);
  EXPECT_EQ(bytesOf(traffic), "8 16");
  EXPECT_EQ(traffic.allWorst.inside, 32u);
  EXPECT_EQ(traffic.allWorst.between, 64u);
  EXPECT_EQ(traffic.rows.at(0).worst.between, 64u);
  Packed packed(single({{"ep", 4}}, rows));
  std::string text = hostTrafficText(packed.root(), traffic);
  EXPECT_NE(text.find("at most"), std::string::npos) << text;
}

// One place on around the ring, 8 floats each: of four such messages two cross (1 to 2, 3 to 0); two places on, all do.
TEST(HostTraffic, CountsWhoIsMeantByAPermute) {
  CollectiveT permute = collective(CollectiveKind::Permute, 8);
  permute.shift = 1;
  EXPECT_EQ(bytesOf(count(single({{"cp", 4}}, permute), 2)), "64 64");
  permute.shift = 2;
  EXPECT_EQ(bytesOf(count(single({{"cp", 4}}, permute), 2)), "0 128");
}

// 300 floats over four ranks: slices of 64, 64, 64 and 108. Each member gets its slice three times and gives the sum three times, from one
// rank of its host and two of the other.
TEST(HostTraffic, CountsSlicesThatDiffer) {
  HostTraffic traffic = count(single({{"dp", 4}}, collective(CollectiveKind::AllReduce, 300)), 2);
  EXPECT_EQ(bytesOf(traffic), std::to_string(2 * 300 * 4) + " " + std::to_string(2 * 2 * 300 * 4));
  EXPECT_EQ(traffic.hosts[0].sent, 2u * (64 + 108) * 4 + 2u * (64 + 64) * 4); // parts of their sums, and sums of ours, to both
}

// A row of 2,500 floats in blocks of 1,024 over four ranks: 1,024, 1,024, 452, 0. What is beyond the row is not sent.
TEST(HostTraffic, CountsSharesOfARow) {
  CollectiveT scatter = collective(CollectiveKind::ReduceScatter, 2500);
  scatter.split = 1024, scatter.whole = 2500;
  HostTraffic traffic = count(single({{"dp", 4}}, scatter), 2);
  EXPECT_EQ(bytesOf(traffic), std::to_string(2500 * 4) + " " + std::to_string(2 * 2500 * 4));
  EXPECT_EQ(traffic.hosts[0].received, 2 * 2048 * 4u); // both ranks of the other host send both shares here
  EXPECT_EQ(traffic.hosts[0].sent, 2 * 452 * 4u);
  EXPECT_EQ(traffic.hosts[1].sent, traffic.hosts[0].received);
  CollectiveT gather = collective(CollectiveKind::AllGather, 1024);
  gather.split = 1024, gather.whole = 2500;
  EXPECT_EQ(bytesOf(count(single({{"dp", 4}}, gather), 2)), bytesOf(traffic));
}

// Five columns of two rows over four ranks are shares of 2, 2, 1 and 0 columns, of 4 bytes each.
TEST(HostTraffic, CountsSharesOfADimension) {
  CollectiveT gather = collective(CollectiveKind::AllGather, 4);
  gather.outer = 2, gather.split = 2, gather.whole = 5;
  EXPECT_EQ(bytesOf(count(single({{"tp", 4}}, gather), 2)), "40 80");
}

/// Bytes between two members of a group, each in a process of its own, as the engine cuts messages.
uint64_t movedBytes(const npar::engine::Operation &operation, const npar::engine::Group &group, size_t from, size_t to) {
  uint64_t bytes = 0;
  for (const npar::engine::Block &block : npar::engine::movedBlocks(operation, group, from, to))
    bytes += block.from.bytes() * block.targets.size();
  if (!npar::engine::addsUp(operation))
    return bytes;
  for (const npar::engine::Block &sum : npar::engine::sumsOf(operation, group, to))
    bytes += sum.from.bytes();
  if (operation.kind == CollectiveKind::AllReduce)
    for (const npar::engine::Block &sum : npar::engine::sumsOf(operation, group, from))
      bytes += sum.from.bytes();
  return bytes;
}

// The counted bytes of random collectives equal those of the engine's messages between processes of one rank each.
TEST(HostTraffic, CountsWhatTheEngineMoves) {
  std::mt19937 random(5);
  auto draw = [&](uint32_t most) { return 1 + random() % most; };
  for (int trial = 0; trial < 500; ++trial) {
    uint32_t hosts = draw(3), each = draw(3), n = hosts * each;
    CollectiveT one = collective(static_cast<CollectiveKind>(random() % 5), 0);
    one.outer = draw(3), one.split = draw(300), one.inner = draw(3);
    auto piece = static_cast<uint64_t>(one.outer * one.split * one.inner);
    one.count = piece;
    if (one.kind == CollectiveKind::AllToAll)
      one.middle = draw(3), one.concat = draw(3), one.concat_first = random() % 2,
      one.count = piece * static_cast<uint64_t>(one.middle * one.concat) * n;
    if (one.kind == CollectiveKind::Permute)
      one.shift = n > 1 ? draw(n - 1) : 0;
    if (one.kind == CollectiveKind::Permute && n == 1)
      continue; // there is none
    bool row = random() % 2;
    if (one.kind == CollectiveKind::AllGather && random() % 2)
      one.whole = static_cast<uint64_t>(one.split) * n - std::min<uint64_t>(n - 1, random() % 4);
    if (one.kind == CollectiveKind::ReduceScatter && row)
      one.outer = one.inner = 1, one.whole = one.count = draw(300), one.split = draw(2) * 128;
    else if (one.kind == CollectiveKind::ReduceScatter)
      one.count = piece * n;
    if (one.whole > static_cast<uint64_t>(one.split) * n) // shares that are too few
      continue;

    npar::engine::Operation operation;
    operation.kind = one.kind, operation.type = one.type, operation.count = one.count, operation.whole = one.whole,
    operation.shift = one.shift;
    operation.outer = static_cast<uint64_t>(one.outer), operation.split = static_cast<uint64_t>(one.split);
    operation.inner = static_cast<uint64_t>(one.inner), operation.middle = static_cast<uint64_t>(one.middle);
    operation.concat = static_cast<uint64_t>(one.concat), operation.concatFirst = one.concat_first;
    npar::engine::Group group;
    for (uint32_t member = 0; member < n; ++member) {
      group.members.push_back(member);
      group.parties.push_back({member, {member}});
    }
    uint64_t inside = 0, between = 0;
    for (uint32_t from = 0; from < n; ++from)
      for (uint32_t to = 0; to < n; ++to)
        if (from != to)
          (from / each == to / each ? inside : between) += movedBytes(operation, group, from, to);
    EXPECT_EQ(bytesOf(count(single({{"dp", n}}, one), hosts)), std::to_string(inside) + " " + std::to_string(between))
        << EnumNameCollectiveKind(one.kind) << " of " << n << ", trial " << trial;
  }
}

// Two stages of two ranks, two micro-batches of 16 floats: stage 0 reduces them over tp (2 groups' worth would be 2; there is one) and
// sends them on; the update reduces 16 floats over all four. Per kind of axis, by hand:
//   tp     all-reduce: 2 micro * 1 group * 2 * (1 / 2) * 64 bytes from each of 2 ranks                = 256
//   pp,tp  all-reduce: 4 ranks * 2 * (3 / 4) * 64 bytes                                               = 384
//   pp     send: 2 micro * 2 ranks * 64 bytes                                                         = 256
TEST(HostTraffic, TellsAxesApart) {
  auto rows = [](const HostTraffic &traffic) {
    std::string text;
    for (const TrafficRow &row : traffic.rows)
      text += row.over + " " + row.kind + " " + std::to_string(row.bytes.inside) + " " + std::to_string(row.bytes.between) + "\n";
    return text;
  };
  EXPECT_EQ(rows(count(twoStages(), 1)), "pp send 256 0\npp,tp all_reduce 384 0\ntp all_reduce 256 0\n");
  // A stage on each host: its tp group stays inside.
  EXPECT_EQ(rows(count(twoStages(), 2)), "pp send 0 256\npp,tp all_reduce 128 256\ntp all_reduce 256 0\n");
  // The two halves of a stage on two hosts: stages talk inside.
  EXPECT_EQ(rows(count(twoStages(), 2, "spread")), "pp send 256 0\npp,tp all_reduce 128 256\ntp all_reduce 0 256\n");
  HostTraffic traffic = count(twoStages(), 2);
  EXPECT_EQ(traffic.hosts[0].sent, 256u + 128);
  EXPECT_EQ(traffic.hosts[0].received, 128u);
  EXPECT_EQ(traffic.hosts[1].sent, 128u);
}

TEST(HostTraffic, SaysSo) {
  HostTraffic traffic = count(twoStages(), 2, "pp inside tp");
  Packed packed(twoStages());
  EXPECT_EQ(hostTrafficText(packed.root(), traffic), "2 hosts of 2 ranks, placed by pp, tp; inside a host: tp (--place)\n"
                                                     "  host 0     ranks 0-1   pp = 0, tp = 0-1\n"
                                                     "  host 1     ranks 2-3   pp = 1, tp = 0-1\n"
                                                     "\n"
                                                     "bytes per training step, all ranks together\n"
                                                     "  over                          inside hosts   between hosts\n"
                                                     "  pp          send                       0 B           256 B\n"
                                                     "  pp,tp       all_reduce               128 B           256 B\n"
                                                     "  tp          all_reduce               256 B             0 B\n"
                                                     "  all                                  384 B           512 B\n"
                                                     "\n"
                                                     "busiest: host 0 sends 384 B to other hosts and receives 128 B\n");
  OrderedJson json = hostTrafficJson(traffic);
  EXPECT_EQ(json["place"].dump(), R"({"order":"pp, tp","inside":"tp","source":"--place"})");
  EXPECT_EQ(json["traffic"][0].dump(),
            R"({"over":"pp","kind":"send","inside_bytes":0,"between_bytes":256,"worst_inside_bytes":0,"worst_between_bytes":256})");
  EXPECT_EQ(json["hosts"][1].dump(), R"({"ranks":[2,3],"sent_bytes":128,"received_bytes":384})");
  EXPECT_EQ(json["between_bytes"], 512);
}

} // namespace
