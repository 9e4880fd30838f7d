// Tests flight records: they are read after the process was killed, and when damaged in any way; and the autopsy of a job's records.
#include "engine/control/FlightRecord.h"
#include "ForkedJob.h"
#include "engine/control/Autopsy.h"
#include "engine/json/Json.h"
#include "engine/tables/Tables.h"
#include "tests/engine/runtime/PipelineProgram.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <xxhash.h>

namespace npar::testing {
namespace {

using namespace engine;

class FlightRecordTest : public ::testing::Test {
protected:
  FlightRecordTest() : folder(::testing::TempDir() + "npar-flight-" + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder);
    loaded = pipelineProgram({})->load();
    for (int64_t rank = 0; rank < 4; ++rank)
      ranks.push_back({rank, DeviceAddress()});
    graph = expandProgram(loaded->root(), ranks);
    operations = std::make_unique<Operations>(loaded->root(), graph);
  }
  ~FlightRecordTest() override { std::filesystem::remove_all(folder); }

  std::unique_ptr<FlightRecord> open(uint32_t process, uint32_t processes) {
    FlightOptions options;
    options.folder = folder, options.process = process, options.processes = processes, options.host = "host" + std::to_string(process);
    auto record = std::move(*FlightRecord::create(options));
    Status status = record->open(loaded->root(), graph, *operations);
    EXPECT_TRUE(status.ok()) << status.message();
    return record;
  }
  std::string path(uint32_t process) const { return folder + "/process-" + std::to_string(process) + ".flight"; }

  /// The events of a rank in order, as if each node followed the one before: up to the node with this number of communicating ones, which
  /// begins and does not end.
  void play(FlightRecord &record, uint32_t rank, int64_t step, uint32_t communications) {
    record.note({0, rank, noIndex, step, step, FlightEvent::StepBegan});
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      const StepNode &node = graph.nodes[i];
      if (node.local != rank || node.joins())
        continue;
      record.note({0, rank, i, step, step, FlightEvent::Began});
      if (!node.communicates())
        continue;
      if (communications-- == 0)
        return;
      record.note({0, rank, i, step, step, FlightEvent::Ended});
    }
    record.note({0, rank, noIndex, step, step, FlightEvent::StepEnded});
  }

  std::string folder;
  std::shared_ptr<const program::LoadedProgram> loaded;
  std::vector<LocalRank> ranks;
  StepGraph graph;
  std::unique_ptr<Operations> operations;
};

TEST_F(FlightRecordTest, ItOutlivesAProcessThatIsKilled) {
  ForkedJob job(1, [&](uint32_t) {
    std::unique_ptr<FlightRecord> record = open(0, 1);
    for (int64_t step = 0;; ++step)
      play(*record, 1, step, 1000);
    return 0;
  });
  while (!readFlight(path(0)).ok() || readFlight(path(0))->ranks[1].moments.size() + 1 < flightRingEntries)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  job.signal(0, SIGKILL);
  EXPECT_EQ(job.wait(0), -SIGKILL);
  Result<FlightLog> log = readFlight(path(0));
  ASSERT_TRUE(log.ok()) << log.status().message();
  const FlightRank &rank = log->ranks[1];
  EXPECT_GE(rank.moments.size(), size_t{flightRingEntries} - 1); // one may have been in the making
  for (size_t i = 1; i < rank.moments.size(); ++i) {
    EXPECT_EQ(rank.moments[i].number, rank.moments[i - 1].number + 1);
    EXPECT_GE(rank.moments[i].clock, rank.moments[i - 1].clock);
  }
  EXPECT_FALSE(log->ended);
  EXPECT_EQ(log->names[rank.nodes[rank.moments.back().node == noFlightNode ? 0 : rank.moments.back().node].task()].empty(), false);
}

// Workers write events of one rank at the same time: each has its place.
TEST_F(FlightRecordTest, ManyThreadsWriteAtOnce) {
  std::unique_ptr<FlightRecord> record = open(0, 1);
  auto first = std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const StepNode &node) { return node.local == 2; });
  auto node = static_cast<uint32_t>(first - graph.nodes.begin());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int64_t event = 0; event < 1000; ++event)
        record->note({0, 2, node, event, event, FlightEvent::Began});
    });
  for (std::thread &thread : threads)
    thread.join();
  Result<FlightLog> log = readFlight(path(0));
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->ranks[2].moments.size(), 4000u);
}

TEST_F(FlightRecordTest, WhatIsDamagedIsNamedAndNothingCrashes) {
  {
    std::unique_ptr<FlightRecord> record = open(0, 1);
    for (uint32_t rank = 0; rank < 4; ++rank)
      play(*record, rank, 0, 1000);
    record->verdict(FailureReport());
  }
  std::ifstream file(path(0), std::ios::binary);
  std::vector<char> whole((std::istreambuf_iterator<char>(file)), {});
  ASSERT_TRUE(readFlight(path(0)).ok());
  std::mt19937 random(3);
  int refused = 0;
  constexpr int rounds = 400;
  FlightHeader header;
  std::memcpy(&header, whole.data(), sizeof(header));
  for (int round = 0; round < rounds; ++round) {
    std::vector<char> bytes = whole;
    if (round % 4 == 0)
      bytes.resize(random() % bytes.size());
    else // half of it in the header and the tables, which a hash guards
      for (int flip = 0; flip < 8; ++flip)
        bytes[random() % (round % 2 ? flightLiveOffset(header.tablesBytes) : bytes.size())] = static_cast<char>(random());
    std::ofstream(path(0), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    Result<FlightLog> log = readFlight(path(0));
    if (log.ok()) {
      (void)autopsy({*log});
      continue;
    }
    ++refused;
    EXPECT_NE(log.status().message().find(path(0)), std::string::npos);
    EXPECT_EQ(log.status().code(), Code::BadInput);
  }
  EXPECT_GT(refused, rounds / 2);
}

// Right hashes: the tables themselves claim what the file does not have.
TEST_F(FlightRecordTest, TablesThatDoNotFitTogetherAreRefused) {
  auto said = [&](const std::function<void(wire::FlightTablesT &)> &change) {
    wire::FlightTablesT tables;
    tables.host = "here", tables.ring_entries = flightRingEntries, tables.ranks = {3};
    tables.sessions = {wire::FlightSession(0, false)}, tables.names = {"a"}, tables.group_sizes = {1, 2}, tables.members = {3, 3, 4};
    tables.nodes = {FlightNode(0, 0, 0, 0, 0, 1, 0, 0, FlightNodeKind::Send)};
    change(tables);
    const std::vector<uint8_t> bytes = npar::tables::pack(tables);
    FlightHeader header{{}, bytes.size(), XXH3_64bits(bytes.data(), bytes.size())};
    std::memcpy(header.magic, flightMagic, sizeof(flightMagic));
    std::filesystem::create_directories(folder);
    std::ofstream file(path(0), std::ios::binary);
    file.write(reinterpret_cast<const char *>(&header), sizeof(header));
    file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.close();
    std::filesystem::resize_file(path(0), flightRingsOffset(bytes.size()) + flightRingBytes);
    Result<FlightLog> log = readFlight(path(0));
    return log.ok() ? "" : log.status().message().substr(log.status().message().find("' ") + 2);
  };
  EXPECT_EQ(said([](auto &) {}), "");
  const std::string apart = "is damaged: its tables do not fit together";
  EXPECT_EQ(said([](auto &tables) { tables.names = {}; }), apart);
  EXPECT_EQ(said([](auto &tables) { tables.names = {std::string(longestFlightName + 1, 'x')}; }), apart);
  EXPECT_EQ(said([](auto &tables) { tables.group_sizes = {1, 0}; }), apart);
  EXPECT_EQ(said([](auto &tables) { tables.group_sizes = {1, 3}; }), apart);
  EXPECT_EQ(said([](auto &tables) { tables.group_sizes = {1}; }), apart);
  EXPECT_EQ(said([](auto &tables) { tables.nodes[0].mutate_rank(1); }), apart);
  EXPECT_EQ(said([](auto &tables) { tables.nodes[0].mutate_kind(static_cast<FlightNodeKind>(4)); }), apart);
  EXPECT_EQ(said([](auto &tables) { tables.ranks.resize(6000); }).find("is truncated or damaged: its parts do not fit"), 0u);
  EXPECT_EQ(said([](auto &tables) { tables.ring_entries = 1; }).find("is truncated or damaged: its parts do not fit"), 0u);
}

TEST_F(FlightRecordTest, ARecordOfAnotherVersionIsRefused) {
  open(0, 1);
  std::fstream(path(0), std::ios::binary | std::ios::in | std::ios::out).seekp(7).put('2');
  EXPECT_EQ(readFlight(path(0)).status().message(),
            "flight record '" + path(0) + "' is not a flight record, or its process ended while writing it");
}

TEST_F(FlightRecordTest, WhereThereIsNoRoomThereIsNoRecord) {
  FlightOptions options;
  options.folder = folder + "/no/such";
  EXPECT_FALSE(FlightRecord::create(options).ok());
  options.folder = folder;
  Result<std::unique_ptr<FlightRecord>> record = FlightRecord::create(options);
  ASSERT_TRUE(record.ok());
  (*record)->note({0, 0, 0, 0, 0, FlightEvent::Began}); // before there is a file: nothing happens
  (*record)->alive();
  (*record)->verdict(FailureReport());
  std::filesystem::remove_all(folder);
  EXPECT_FALSE((*record)->open(loaded->root(), graph, *operations).ok());
  (*record)->note({0, 0, 0, 0, 0, FlightEvent::Began});
}

// One process per rank; rank 2's record ends a communication before those of the others, which wait for it.
TEST_F(FlightRecordTest, ATemporaryFolderIsNobodyElses) {
  std::string other = folder + "-other";
  FlightOptions options;
  options.folder = folder, options.temporary = true;
  auto made = FlightRecord::create(options);
  ASSERT_TRUE(made.ok()) << made.status().message();
  struct stat info;
  ASSERT_EQ(::stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_TRUE(FlightRecord::create(options).ok()) << "another process of the job has made it";
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_EQ(FlightRecord::create(options).status().message(), "cannot use the folder '" + folder + "': it is not this user's alone");
  ASSERT_EQ(::rename(folder.c_str(), other.c_str()), 0);
  ASSERT_EQ(::chmod(other.c_str(), 0700), 0);
  ASSERT_EQ(::symlink(other.c_str(), folder.c_str()), 0);
  EXPECT_FALSE(FlightRecord::create(options).ok()) << "no link is followed";
  ::unlink(folder.c_str());
  std::filesystem::remove_all(other);
}

TEST_F(FlightRecordTest, TheAutopsyNamesWhoStoppedFirst) {
  std::vector<FlightLog> logs;
  for (uint32_t process = 0; process < 4; ++process) {
    std::vector<LocalRank> own = {{process, DeviceAddress()}};
    graph = expandProgram(loaded->root(), own);
    operations = std::make_unique<Operations>(loaded->root(), graph);
    std::unique_ptr<FlightRecord> record = open(process, 4);
    play(*record, 0, 0, 1000);
    // Rank 2 begins nothing in step 1; each other rank stops where it needs rank 2, directly or through others.
    if (process == 2)
      record->note({0, 0, noIndex, 1, 1, FlightEvent::StepBegan});
    else
      play(*record, 0, 1, process == 3 ? 0 : 8);
    logs.push_back(*readFlight(path(process)));
  }
  AutopsyReport report = autopsy(logs);
  EXPECT_TRUE(report.diverged);
  EXPECT_EQ(report.failure.place.rank, 2) << report.first << "\n" << report.second;
  EXPECT_NE(report.second.find("waited"), std::string::npos);
  auto json = Json::parse(report.toJson());
  EXPECT_EQ(json["failure"]["rank"], 2);
  EXPECT_EQ(json["failure"]["process"], 2);
  EXPECT_TRUE(json["verdict"].is_null());
}

// Its last operation is then as whole as any, and the survivor's has failed: what the survivor saw tells who left.
TEST_F(FlightRecordTest, TheAutopsyNamesAKilledProcessAndNotItsSurvivor) {
  std::vector<FlightLog> logs;
  for (uint32_t process = 0; process < 2; ++process) {
    std::vector<LocalRank> own = {{process, DeviceAddress()}};
    graph = expandProgram(loaded->root(), own);
    operations = std::make_unique<Operations>(loaded->root(), graph);
    std::unique_ptr<FlightRecord> record = open(process, 2);
    play(*record, 0, 0, 1000);
    if (process == 0) {
      record->note({0, 0, noIndex, 1, 1, FlightEvent::StepBegan});
      record->note({0, 0, 0, 1, 1, FlightEvent::Failed});
      FailureReport seen;
      seen.cause = Cause::Gone, seen.process = 1;
      record->verdict(seen);
    }
    logs.push_back(*readFlight(path(process)));
  }
  AutopsyReport report = autopsy(logs);
  EXPECT_TRUE(report.diverged);
  EXPECT_EQ(report.failure.process, 1) << report.first << "\n" << report.second;
  EXPECT_EQ(report.failure.cause, Cause::Gone);
}

// A verdict that is larger than the room for it loses some of those who wait, not its cause.
TEST_F(FlightRecordTest, TheVerdictIsKept) {
  std::unique_ptr<FlightRecord> record = open(0, 1);
  FailureReport verdict;
  verdict.message = "rank 3 is gone";
  verdict.waiting.resize(500);
  record->verdict(verdict);
  Result<FlightLog> log = readFlight(path(0));
  ASSERT_TRUE(log.ok());
  auto json = Json::parse(log->verdict);
  EXPECT_EQ(json["message"], "rank 3 is gone");
  EXPECT_GT(json["waiting"].size(), 20u);
  EXPECT_EQ(json["waiting"].size() + json["more_waiting"].get<size_t>(), 500u);
}

} // namespace
} // namespace npar::testing
