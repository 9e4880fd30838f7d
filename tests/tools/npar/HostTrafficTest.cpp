// What crosses hosts, beside numbers worked out by hand.
#include "tools/npar/view/HostTraffic.h"
#include "tests/tools/npar/Packed.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace npar::program;
using namespace npar::driver;

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

// One place on around the ring, 8 floats each: of four such messages two cross (1 to 2, 3 to 0); two places on, all do.
TEST(HostTraffic, CountsWhoIsMeantByAPermute) {
  CollectiveT permute = collective(CollectiveKind::Permute, 8);
  permute.shift = 1;
  EXPECT_EQ(bytesOf(count(single({{"cp", 4}}, permute), 2)), "64 64");
  permute.shift = 2;
  EXPECT_EQ(bytesOf(count(single({{"cp", 4}}, permute), 2)), "0 128");
}

// Seven floats over four ranks: parts of 2, 2, 2, 1. All-reduce: each member gets three times its part and gives it three times, which is
// twice 3 * 28 bytes. Between hosts of two: each part comes from and goes to two ranks of the other host, twice 2 * 28.
TEST(HostTraffic, CountsPartsThatDiffer) {
  EXPECT_EQ(bytesOf(count(single({{"dp", 4}}, collective(CollectiveKind::AllReduce, 7)), 2)), "56 112");
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
                                                     "  host 0    ranks 0-1                         pp = 0, tp = 0-1\n"
                                                     "  host 1    ranks 2-3                         pp = 1, tp = 0-1\n"
                                                     "\n"
                                                     "bytes per training step, all ranks together\n"
                                                     "  over                          inside hosts   between hosts\n"
                                                     "  pp          send                       0 B           256 B\n"
                                                     "  pp,tp       all_reduce               128 B           256 B\n"
                                                     "  tp          all_reduce               256 B             0 B\n"
                                                     "  all                                  384 B           512 B\n"
                                                     "\n"
                                                     "busiest: host 0 sends 384 B to other hosts and receives 128 B\n");
  nlohmann::ordered_json json = hostTrafficJson(traffic);
  EXPECT_EQ(json["place"].dump(), R"({"order":"pp, tp","inside":"tp","source":"--place"})");
  EXPECT_EQ(json["traffic"][0].dump(), R"({"over":"pp","kind":"send","inside_bytes":0,"between_bytes":256})");
  EXPECT_EQ(json["hosts"][1].dump(), R"({"ranks":[2,3],"sent_bytes":128,"received_bytes":384})");
  EXPECT_EQ(json["between_bytes"], 512);
}

} // namespace
