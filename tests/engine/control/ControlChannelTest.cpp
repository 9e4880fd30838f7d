// Tests the control channel with real sockets: threads and processes that fail, are killed or stopped, and strangers that connect.
#include "engine/control/ControlChannel.h"
#include "ForkedJob.h"
#include "SharedGather.h"
#include "engine/control/Message.h"
#include "engine/control/Message_generated.h"
#include "engine/tables/Tables.h"
#include "tools/npar/job/HardExit.h"
#include "tools/npar/job/LateAbort.h"

#include <arpa/inet.h>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <random>
#include <sys/socket.h>
#include <unistd.h>

using namespace npar;
using namespace npar::engine;
using npar::driver::abortLate;
using npar::driver::HardExit;
using npar::testing::ForkedJob;
using npar::testing::SharedGather;

namespace {

constexpr double limit = 1;

/// One rank, with the process's number, which may wait for another one.
struct FakeRanks final : Observed {
  explicit FakeRanks(int64_t rank, int64_t missing = -1) : rank(rank), missing(missing) {}
  std::vector<int64_t> ranks() const override { return {rank}; }
  ProcessState look(bool) const override {
    ProcessState state;
    RankState &one = state.ranks.emplace_back();
    one.place = {rank, 3, 0, "F0:0", "all_reduce loss", "m.npar:2:1"};
    one.inStep = true;
    if (missing >= 0)
      one.waits.push_back({one.place, {3, false, 1, 0, 0, 3}, {missing}});
    return state;
  }
  Joined joined(const Question &) const override { return Joined::NotYet; }
  Place failedPlace() const override { return {}; }
  int64_t rank, missing;
};

ControlOptions optionsOf(uint32_t process, uint32_t processes) {
  ControlOptions options;
  options.process = process, options.processes = processes, options.timeoutSeconds = limit, options.joinSeconds = 20;
  return options;
}

/// Runs one thread per process, each with its channel.
void runThreads(uint32_t processes, const std::function<void(uint32_t, ControlChannel &)> &work) {
  SharedGather gather(processes);
  std::vector<std::thread> threads;
  for (uint32_t process = 0; process < processes; ++process)
    threads.emplace_back([&, process] {
      Result<std::unique_ptr<ControlChannel>> channel = ControlChannel::open(optionsOf(process, processes), gather.of(process));
      ASSERT_TRUE(channel.ok()) << channel.status().message();
      work(process, **channel);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(ControlChannelTest, AFailureReachesAllWithItsCause) {
  for (uint32_t processes : {1u, 2u, 3u, 8u}) {
    uint32_t teller = processes / 2;
    std::atomic<uint32_t> heard{0};
    runThreads(processes, [&](uint32_t process, ControlChannel &channel) {
      // Two sessions of a process listen, and a third one that has ended by then.
      const int sessions[3] = {};
      for (const int &session : sessions)
        channel.listen(&session, [&](const Status &status) {
          EXPECT_EQ(status.message(), "the disk is full");
          ++heard;
        });
      channel.listen(&sessions[1], {});
      EXPECT_FALSE(channel.verdict(0));
      if (process == teller)
        channel.tell(Status::runFailed("the disk is full"));
      std::optional<FailureReport> report = channel.verdict(5);
      ASSERT_TRUE(report) << process << " of " << processes;
      EXPECT_EQ(report->code, Code::RunFailed);
      EXPECT_EQ(report->process, teller);
      EXPECT_EQ(report->message, "the disk is full");
      for (int waited = 0; heard < 2 * (processes - 1) && waited < 5000; ++waited)
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // the listeners run after the verdict is known
      for (const int &session : sessions)
        channel.listen(&session, {});
    });
    EXPECT_EQ(heard, 2 * (processes - 1)); // not the one that told it
  }
}

TEST(ControlChannelTest, WhoListensLateIsToldAtOnce) {
  runThreads(2, [](uint32_t process, ControlChannel &channel) {
    if (process == 0)
      channel.tell(Status::runFailed("early"));
    ASSERT_TRUE(channel.verdict(5));
    bool told = false;
    channel.listen(&told, [&](const Status &) { told = true; });
    EXPECT_EQ(told, process == 1);
    channel.listen(&told, {});
  });
}

TEST(ControlChannelTest, ProcessesEndInAnyOrderWithoutAlarm) {
  runThreads(6, [](uint32_t process, ControlChannel &channel) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30 * ((process * 5) % 6)));
    EXPECT_FALSE(channel.verdict(0)) << channel.verdict(0)->message;
  });
}

TEST(ControlChannelTest, ATimeoutNamesTheRankThatAllWaitFor) {
  runThreads(4, [](uint32_t process, ControlChannel &channel) {
    FakeRanks ranks(process, process == 2 ? -1 : 2);
    channel.watch(&ranks);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    if (process == 3)
      channel.tell(Status(Code::Timeout, "no progress"));
    std::optional<FailureReport> report = channel.verdict(5);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->cause, Cause::Slow);
    EXPECT_EQ(report->place.rank, 2);
    EXPECT_EQ(report->waiting.size(), 3u);
    channel.watch(nullptr);
  });
}

/// Body of a process that the test disturbs: waits for a verdict and ends with its code.
int endWithVerdict(SharedGather &gather, uint32_t process, uint32_t processes, int64_t culprit, Cause cause) {
  Result<std::unique_ptr<ControlChannel>> channel = ControlChannel::open(optionsOf(process, processes), gather.of(process));
  if (!channel.ok())
    return 90;
  FakeRanks ranks(process, process == culprit ? -1 : culprit);
  (*channel)->watch(&ranks);
  std::this_thread::sleep_for(std::chrono::duration<double>(limit));
  if (cause == Cause::Silent)
    (*channel)->tell(Status(Code::Timeout, "no progress"));
  std::optional<FailureReport> report = (*channel)->verdict(5);
  if (!report)
    return 91;
  (*channel)->endStopped();
  if (report->process != culprit || report->cause != cause || report->place.rank != culprit)
    return 92;
  return static_cast<int>(report->code);
}

void disturb(uint32_t processes, uint32_t victim, int signal, Cause cause, int code) {
  SharedGather gather(processes);
  auto began = std::chrono::steady_clock::now();
  ForkedJob job(processes, [&](uint32_t process) { return endWithVerdict(gather, process, processes, victim, cause); });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  job.signal(victim, signal);
  // A stopped one is ended by its neighbours.
  for (uint32_t process = 0; process < processes; ++process)
    EXPECT_EQ(job.wait(process), process == victim ? -SIGKILL : code) << "process " << process;
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(), 0.5 + limit + 2);
}

TEST(ControlChannelTest, AKilledProcessIsNamed) {
  for (uint32_t victim : {0u, 1u, 3u})
    disturb(4, victim, SIGKILL, Cause::Gone, 4);
}

TEST(ControlChannelTest, AStoppedProcessIsNamedAndEnded) {
  for (uint32_t victim : {0u, 1u, 3u})
    disturb(4, victim, SIGSTOP, Cause::Silent, 5);
}

/// Ports at which processes of this host listen on loopback.
std::vector<uint16_t> listeningPorts() {
  std::vector<uint16_t> ports;
  std::ifstream table("/proc/net/tcp");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    unsigned address, port, state;
    if (std::sscanf(line.c_str(), " %*d: %x:%x %*x:%*x %x", &address, &port, &state) == 3 && state == 10 && address == loopbackAddress)
      ports.push_back(static_cast<uint16_t>(port));
  }
  return ports;
}

// Strangers connect while the job gathers: they send nothing, noise, another job's token, too much. All are rejected, and nothing crashes.
TEST(ControlChannelTest, StrangersAreNotHeard) {
  constexpr uint32_t processes = 3;
  SharedGather gather(processes);
  std::vector<uint16_t> before = listeningPorts();
  std::vector<std::thread> threads;
  std::atomic<uint32_t> good{0};
  std::atomic<bool> late{false};
  for (uint32_t process = 0; process < processes; ++process)
    threads.emplace_back([&, process] {
      GatherBytes own = gather.of(process);
      int calls = 0;
      // The last process is late between the two gatherings: process 0 listens and waits.
      GatherBytes slow = [&, process](const std::vector<uint8_t> &bytes) {
        auto all = own(bytes);
        while (process == processes - 1 && ++calls == 2 && !late)
          std::this_thread::sleep_for(std::chrono::milliseconds(10)), --calls;
        return all;
      };
      Result<std::unique_ptr<ControlChannel>> channel = ControlChannel::open(optionsOf(process, processes), slow);
      ASSERT_TRUE(channel.ok()) << channel.status().message();
      EXPECT_FALSE((*channel)->verdict(0.5));
      good += channel.ok();
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::mt19937 random(2);
  std::vector<files::Descriptor> strangers;
  int connected = 0;
  for (uint16_t port : listeningPorts()) {
    if (std::find(before.begin(), before.end(), port) != before.end())
      continue;
    for (int i = 0; i < 300; ++i) {
      Result<files::Descriptor> socket = connectTo({loopbackAddress}, port, steadyNow() + 1);
      if (!socket.ok())
        continue;
      ++connected;
      std::vector<uint8_t> noise(random() % 2000);
      for (uint8_t &byte : noise)
        byte = static_cast<uint8_t>(random());
      if (i % 3 == 1) { // a header that is right except for the token
        Connection(std::move(*socket), ControlToken{}).send(encode(Message::of(Message::Kind::Bye)), true);
        continue;
      }
      if (i % 3 == 2)
        ::send(socket->get(), noise.data(), noise.size(), MSG_NOSIGNAL);
      strangers.push_back(std::move(*socket));
    }
  }
  late = true;
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_GT(connected, 100);
  EXPECT_EQ(good, processes);
}

/// Opens three channels. `alter` changes the gathered bytes for process 2; it gets the number of the gather.
void openAltered(const std::function<void(int, std::vector<std::vector<uint8_t>> &)> &alter, const std::string &message) {
  SharedGather gather(3);
  std::vector<std::thread> threads;
  for (uint32_t process = 0; process < 3; ++process)
    threads.emplace_back([&, process] {
      ControlOptions options = optionsOf(process, 3);
      options.joinSeconds = 0.5;
      GatherBytes own = gather.of(process);
      GatherBytes altered = [&, process, call = 0](const std::vector<uint8_t> &bytes) mutable {
        auto all = own(bytes);
        if (process == 2 && all.ok())
          alter(call++, *all);
        return all;
      };
      Result<std::unique_ptr<ControlChannel>> channel = ControlChannel::open(options, altered);
      ASSERT_FALSE(channel.ok());
      if (process == 2) {
        EXPECT_NE(channel.status().message().find(message), std::string::npos) << channel.status().message();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Changes where a process says that it listens.
void change(std::vector<uint8_t> &bytes, const std::function<void(wire::ListeningT &)> &to) {
  wire::ListeningT listening;
  ASSERT_TRUE(npar::tables::unpack(bytes, listening));
  to(listening);
  bytes = npar::tables::pack(listening);
}

// If a process is missing, none starts, and none waits longer than its time limit.
TEST(ControlChannelTest, WhoDoesNotComeIsMissed) {
  auto began = std::chrono::steady_clock::now();
  openAltered([](int call, auto &all) { call == 1 ? change(all[0], [](auto &to) { to.port ^= 1; }) : void(); }, "process 2 on host");
  openAltered([](int call, auto &all) { call == 1 ? all[0].clear() : void(); }, "process 0 does not say where it listens");
  openAltered([](int call, auto &all) { call == 0 ? all[1].resize(3) : void(); }, "process 1 does not introduce itself");
  openAltered([](int call, auto &all) { call == 1 ? change(all[0], [](auto &to) { to.token[3] ^= 1; }) : void(); },
              "does not reach the control channel");
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(), 8);
}

TEST(HardExitTest, AStuckProcessEndsWithItsCodeAndLastWords) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  ForkedJob job(1, [&](uint32_t) {
    HardExit exit([&] { [[maybe_unused]] ssize_t written = ::write(pipe[1], "bye", 3); });
    exit.arm(0.1, 5);
    std::this_thread::sleep_for(std::chrono::seconds(30));
    return 0;
  });
  EXPECT_EQ(job.wait(0), 5);
  char said[4] = "";
  EXPECT_EQ(::read(pipe[0], said, 3), 3);
  EXPECT_STREQ(said, "bye");
  ::close(pipe[0]), ::close(pipe[1]);
}

TEST(HardExitTest, LastWordsThatHangDoNotKeepTheProcess) {
  ForkedJob job(1, [&](uint32_t) {
    HardExit exit([] { std::this_thread::sleep_for(std::chrono::seconds(30)); });
    exit.arm(0.1, 5);
    std::this_thread::sleep_for(std::chrono::seconds(30));
    return 0;
  });
  EXPECT_EQ(job.wait(0), 5);
}

// A process that aborts because another one was killed, like UCX in the middle of a message: only the killed process is blamed, and all end
// by the report.
TEST(LateAbortTest, WhoAbortsBecauseAnotherIsGoneHearsTheVerdictFirst) {
  SharedGather gather(3);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  ForkedJob job(3, [&](uint32_t process) {
    HardExit exit(nullptr);
    ControlOptions options = optionsOf(process, 3);
    options.timeoutSeconds = 20; // no process must count as silent, however busy the machine is
    options.onVerdict = [&](const FailureReport &report) {
      exit.arm(0.1, report.process == 2 && report.lost == std::vector<uint32_t>{2} ? 40 : 41);
    };
    Result<std::unique_ptr<ControlChannel>> channel = ControlChannel::open(options, gather.of(process));
    abortLate(10);
    [[maybe_unused]] ssize_t written = ::write(ready[1], "x", channel.ok() ? 1 : 0);
    std::this_thread::sleep_for(std::chrono::seconds(30));
    return 0;
  });
  for (int processes = 0; processes < 3; ++processes) {
    char one;
    ASSERT_EQ(::read(ready[0], &one, 1), 1);
  }
  job.signal(2, SIGKILL);
  job.signal(1, SIGABRT);
  EXPECT_EQ(job.wait(1), 40);
  EXPECT_EQ(job.wait(0), 40);
  ::close(ready[0]), ::close(ready[1]);
}

TEST(LateAbortTest, WithoutAVerdictTheProcessEndsOfIt) {
  ForkedJob job(1, [](uint32_t) {
    abortLate(0.1);
    std::abort();
    return 0;
  });
  EXPECT_EQ(job.wait(0), -SIGABRT);
}

} // namespace
