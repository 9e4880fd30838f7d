// Tests the rules of the control channel in simulated time: the culprit, the delay, the report that all get, and the number of messages.
#include "SimulatedJob.h"

#include <chrono>
#include <gtest/gtest.h>

using namespace npar::engine;
using npar::testing::SimulatedJob;

namespace {

constexpr double coreLimit = 5;

/// All processes but those that are lost have the same verdict, which names this one.
void expectVerdict(SimulatedJob &job, uint32_t processes, std::set<uint32_t> lost, Cause cause, int64_t culprit) {
  std::string message;
  for (uint32_t process = 0; process < processes; ++process) {
    if (lost.count(process))
      continue;
    ASSERT_TRUE(job.verdict(process)) << "process " << process << " does not know";
    EXPECT_EQ(job.verdict(process)->cause, cause) << job.verdict(process)->message;
    EXPECT_EQ(job.verdict(process)->process, culprit) << job.verdict(process)->message;
    if (message.empty())
      message = job.verdict(process)->message;
    EXPECT_EQ(job.verdict(process)->message, message);
  }
}

TEST(ControlCoreTest, AJobThatIsWellStaysSo) {
  SimulatedJob job(8, coreLimit);
  job.run(60);
  for (uint32_t process = 0; process < 8; ++process)
    EXPECT_FALSE(job.verdict(process));
}

TEST(ControlCoreTest, AKilledProcessIsFoundAtOnce) {
  for (uint32_t victim = 0; victim < 4; ++victim) {
    SimulatedJob job(4, coreLimit);
    job.run(3);
    double killed = job.now();
    job.kill(victim);
    job.run(1);
    expectVerdict(job, 4, {victim}, Cause::Gone, victim);
    EXPECT_EQ(job.verdict(3 - victim)->code, Code::RunFailed);
    EXPECT_LT(job.decidedAt(3 - victim) - killed, 0.5);
    EXPECT_EQ(job.verdict(3 - victim)->speaker, victim == 0 ? 1u : 0u);
  }
}

// The judge and its deputy die together: each of the others judges from what it knows.
TEST(ControlCoreTest, WithoutJudgeAndDeputyEveryoneKnowsStill) {
  SimulatedJob job(5, coreLimit);
  job.run(3);
  job.kill(0), job.kill(1);
  job.run(1);
  expectVerdict(job, 5, {0, 1}, Cause::Gone, job.verdict(4)->process);
  EXPECT_LE(job.verdict(4)->process, 1);
}

// A stopped process keeps its connections: the others wait for it, their watchdogs speak, and it alone does not answer.
TEST(ControlCoreTest, AStoppedProcessIsFoundWhenTheWatchdogsSpeak) {
  for (uint32_t victim = 0; victim < 4; ++victim) {
    SimulatedJob job(4, coreLimit);
    job.run(3);
    job.stop(victim);
    for (uint32_t process = 0; process < 4; ++process)
      if (process != victim)
        job.wait(process, {victim});
    job.run(coreLimit);
    double complained = job.now();
    job.complain(victim == 3 ? 2 : 3);
    job.run(1.5);
    expectVerdict(job, 4, {victim}, Cause::Silent, victim);
    for (uint32_t process = 0; process < 4; ++process)
      EXPECT_TRUE(process == victim || job.decidedAt(process) - complained < 1.0) << process << " of victim " << victim;
  }
}

// No process complains, as between two phases in which none needs another: silence alone is enough.
TEST(ControlCoreTest, SilenceAloneIsFoundAfterTheTimeLimit) {
  for (uint32_t victim = 0; victim < 3; ++victim) {
    SimulatedJob job(3, coreLimit);
    job.run(3);
    double stopped = job.now();
    job.stop(victim);
    job.run(coreLimit - 1);
    EXPECT_FALSE(job.verdict(2 - victim % 2));
    job.run(3);
    expectVerdict(job, 3, {victim}, Cause::Silent, victim);
    uint32_t other = victim == 0 ? 2 : 0;
    EXPECT_LT(job.decidedAt(other) - stopped, coreLimit + 1);
  }
}

TEST(ControlCoreTest, AProcessThatGoesOnInTimeIsForgiven) {
  SimulatedJob job(3, coreLimit);
  job.run(3);
  job.stop(2);
  job.run(coreLimit / 2);
  job.resume(2);
  job.run(20);
  for (uint32_t process = 0; process < 3; ++process)
    EXPECT_FALSE(job.verdict(process));
}

// The judge itself slept for long: the others' silence in that time is not held against them.
TEST(ControlCoreTest, WhoSleptDoesNotBlameTheOthers) {
  SimulatedJob job(4, coreLimit);
  job.run(3);
  for (uint32_t process = 0; process < 4; ++process)
    job.stop(process); // the whole machine, or the launcher's group
  job.run(60);
  for (uint32_t process = 0; process < 4; ++process)
    job.resume(process);
  job.run(20);
  for (uint32_t process = 0; process < 4; ++process)
    EXPECT_FALSE(job.verdict(process)) << job.verdict(process)->message;
}

// More processes than cores: every process wakes up late, and reports it.
TEST(ControlCoreTest, LateProcessesAreGivenTime) {
  SimulatedJob job(8, 1);
  for (uint32_t process = 0; process < 8; ++process)
    job.delay(process, 0.2 + 0.05 * process);
  job.run(60);
  EXPECT_GT(job.core(3).lateSeconds(), 0.3);
  for (uint32_t process = 0; process < 8; ++process)
    EXPECT_FALSE(job.verdict(process)) << job.verdict(process)->message;
}

TEST(ControlCoreTest, TheRankThatAllWaitForIsNamed) {
  SimulatedJob job(4, coreLimit);
  job.run(3);
  job.wait(0, {1}), job.wait(1, {2}), job.wait(3, {2});
  job.run(coreLimit);
  job.complain(0);
  job.run(1);
  expectVerdict(job, 4, {}, Cause::Slow, 2);
  EXPECT_EQ(job.verdict(1)->waiting.size(), 3u);
  EXPECT_EQ(job.verdict(1)->place.source, "model.npar:1:1");
}

TEST(ControlCoreTest, AFailureIsToldToAll) {
  for (uint32_t teller = 0; teller < 4; ++teller) {
    SimulatedJob job(4, coreLimit);
    job.run(3);
    job.fail(teller, Code::BadInput, "the data file is missing");
    job.run(0.5);
    expectVerdict(job, 4, {}, Cause::Failed, teller);
    EXPECT_EQ(job.verdict(2)->message, "the data file is missing");
  }
}

// Two fail at the same time: whichever it is, all say the same.
TEST(ControlCoreTest, OneOfTwoFailuresIsTheCauseEverywhere) {
  SimulatedJob job(4, coreLimit);
  job.run(3);
  job.fail(2, Code::RunFailed, "two"), job.fail(3, Code::RunFailed, "three");
  job.run(0.5);
  expectVerdict(job, 4, {}, Cause::Failed, job.verdict(0)->process);
}

TEST(ControlCoreTest, WhoLeavesInGoodOrderIsNotMissed) {
  for (uint32_t first = 0; first < 4; ++first) {
    SimulatedJob job(4, coreLimit);
    job.run(3);
    job.leave(first);
    job.run(0.1);
    job.kill(first); // its sockets close
    job.run(3 * coreLimit);
    for (uint32_t process = 0; process < 4; ++process)
      EXPECT_FALSE(job.verdict(process)) << job.verdict(process)->message;
    uint32_t victim = first == 3 ? 2 : 3;
    job.kill(victim);
    job.run(1);
    expectVerdict(job, 4, {first, victim}, Cause::Gone, victim);
  }
}

// The network between two hosts is cut: each side ends, and the side of the judge names the other host.
TEST(ControlCoreTest, ALostNetworkEndsBothSides) {
  SimulatedJob job(4, coreLimit, 2);
  job.run(3);
  job.cut(0, 1);
  for (uint32_t process = 0; process < 4; ++process)
    job.wait(process, {process < 2 ? 2 : 0});
  job.run(coreLimit);
  double complained = job.now();
  for (uint32_t process = 0; process < 4; ++process)
    job.complain(process);
  job.run(3);
  for (uint32_t process = 0; process < 4; ++process) {
    ASSERT_TRUE(job.verdict(process)) << process;
    EXPECT_EQ(job.verdict(process)->cause, Cause::Silent);
    EXPECT_EQ(job.verdict(process)->code, Code::Timeout);
    EXPECT_EQ(job.verdict(process)->host, process < 2 ? "host1" : "host0") << job.verdict(process)->message;
    EXPECT_LT(job.decidedAt(process) - complained, 1.9) << process;
  }
  EXPECT_NE(job.verdict(0)->message.find("network"), std::string::npos);
}

// Messages per second are a constant times the number of processes, whichever that is: process 0 says and hears two per process and beat,
// and no other one more than two per beat.
TEST(ControlCoreTest, TrafficIsLinearInTheNumberOfProcesses) {
  double perProcess[2];
  int at = 0;
  for (uint32_t processes : {64u, 1024u}) {
    SimulatedJob job(processes, 300);
    job.run(2);
    uint64_t messages = job.messages(), bytes = job.bytes(), ofLast = job.messagesOf(processes - 1);
    constexpr double seconds = 10;
    job.run(seconds);
    double beats = seconds / job.core(0).interval();
    perProcess[at++] = static_cast<double>(job.messages() - messages) / processes / seconds;
    EXPECT_LE(static_cast<double>(job.messages() - messages), 2.0 * processes * (beats + 1));
    EXPECT_LE(static_cast<double>(job.messagesOf(processes - 1) - ofLast), 2 * (beats + 1));
    std::printf("%u processes: %.2f messages and %.0f bytes per process and second\n", processes, perProcess[at - 1],
                static_cast<double>(job.bytes() - bytes) / processes / seconds);
  }
  EXPECT_NEAR(perProcess[1], perProcess[0], 0.1 * perProcess[0]);
}

/// Takes what a core sends and encodes it, as a socket's side does; counts.
struct CountingLink final : ControlLink {
  void send(uint32_t, const Message &message) override { ++messages, bytes += encode(message).size(); }
  ProcessState look(bool) override {
    ProcessState state;
    state.progress = ++progress;
    state.ranks.resize(8);
    for (RankState &rank : state.ranks)
      rank.place = {1, 2, 3, "F0:1", "matmul h.3.mlp.up", "gpt2.npar:14:3"};
    return state;
  }
  Joined joined(const Question &) override { return Joined::Unknown; }
  void decided(const FailureReport &) override { FAIL(); }
  uint64_t messages = 0, bytes = 0, progress = 0;
};

// Process 0 of 1,024 answers messages and sends no others. The test prints the cost on one core, without the system's part; the aim is 1 %
// of a step of 100 ms.
TEST(ControlCoreTest, TheJudgeOf1024ProcessesSaysAsMuchAsItHears) {
  CountingLink link, member;
  CoreOptions options;
  options.timeoutSeconds = 300;
  options.peers.resize(1024);
  ControlCore core(options, link, 0);
  Message beat = Message::of(Message::Kind::Beat);
  beat.state = member.look(false);
  std::vector<uint8_t> bytes = encode(beat);
  auto begin = std::chrono::steady_clock::now();
  constexpr double seconds = 20;
  uint64_t beats = 0;
  for (double now = 0; now < seconds; now += core.interval(), ++beats) {
    core.tick(now);
    for (uint32_t process = 1; process < 1024; ++process)
      core.received(now, process, *decode(bytes.data(), bytes.size()));
  }
  double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("process 0 of 1024: %.3f ms per 100 ms, %zu bytes per beat\n", spent / seconds * 100, bytes.size());
  EXPECT_GT(link.messages, 0u);
  EXPECT_LE(link.messages, (beats + 1) * 1023);
}

} // namespace
