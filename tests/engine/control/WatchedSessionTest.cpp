// Sessions whose ranks are watched: where they stand, whom the judge blames for a fault, and what the flight record and its autopsy say.
#include "engine/control/Autopsy.h"
#include "engine/control/Judge.h"
#include "engine/control/SessionWatch.h"
#include "engine/files/Folders.h"
#include "engine/runtime/SessionParts.h"
#include "tests/engine/comm/FaultyCommunicator.h"
#include "tests/engine/runtime/PipelineProgram.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;

/// Four ranks in one session: 0 and 2 are stage 0, 1 and 3 stage 1; x goes from rank 0 to 1, from 2 to 3.
class WatchedSession {
public:
  WatchedSession(std::vector<Fault> faults, double timeoutSeconds)
      : folder(::testing::TempDir() + "npar-watched-" + std::to_string(::getpid())) {
    (void)program::removeFolder(folder);
    FlightOptions flight;
    flight.folder = folder, flight.host = "here";
    record = std::move(*FlightRecord::create(flight));
    watch = std::make_unique<SessionWatch>(record.get());
    SessionOptions options;
    options.threads = 2, options.timeoutSeconds = timeoutSeconds;
    SessionParts parts;
    parts.observer = watch.get();
    parts.communicator = [&](Backend &backend) { return faultyInMemory(backend, faults); };
    auto created = createSession(pipelineProgram({})->load(), options, std::move(parts));
    EXPECT_TRUE(created.ok()) << created.status().message();
    session = std::move(*created);
    EXPECT_TRUE(watch->recordStatus().ok()) << watch->recordStatus().message();
  }
  ~WatchedSession() {
    session.reset();
    (void)program::removeFolder(folder);
  }

  Status step(int64_t step) { return session->step({std::vector<int32_t>(32, 1)}, step).status(); }

  /// What a judge finds while the session hangs; it ends by its watchdog afterwards.
  FailureReport judgeHanging(int64_t steps) {
    Status status;
    std::thread thread([&] {
      for (int64_t i = 0; i < steps && status.ok(); ++i)
        status = step(i);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(900)); // it hangs by then, and its watchdog has not barked
    Evidence evidence;
    evidence.processes.resize(1);
    evidence.processes[0].ranks = watch->ranks();
    evidence.processes[0].state = watch->look(true);
    for (const Question &question : questionsAbout(evidence))
      evidence.answers[question] = watch->joined(question);
    thread.join();
    EXPECT_EQ(status.code(), Code::Timeout) << status.message();
    return judge(evidence);
  }
  AutopsyReport autopsy() {
    Result<FlightLog> log = readFlight(folder + "/process-0.flight");
    EXPECT_TRUE(log.ok()) << log.status().message();
    return engine::autopsy({*log});
  }

  std::string folder;
  std::unique_ptr<FlightRecord> record;
  std::unique_ptr<SessionWatch> watch;
  std::unique_ptr<Session> session;
};

TEST(WatchedSessionTest, EveryEventOfEveryRankIsRecorded) {
  WatchedSession run({}, 60);
  for (int64_t step = 0; step < 3; ++step)
    ASSERT_TRUE(run.step(step).ok());
  ProcessState state = run.watch->look(true);
  EXPECT_EQ(run.watch->ranks(), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_GT(state.progress, 100u);
  for (const RankState &rank : state.ranks) {
    EXPECT_FALSE(rank.inStep);
    EXPECT_EQ(rank.place.trainingStep, 2);
    EXPECT_TRUE(rank.waits.empty());
  }
  Result<FlightLog> log = readFlight(run.folder + "/process-0.flight");
  ASSERT_TRUE(log.ok()) << log.status().message();
  EXPECT_EQ(log->host, "here");
  ASSERT_EQ(log->ranks.size(), 4u);
  for (const FlightRank &rank : log->ranks) {
    EXPECT_EQ(rank.moments.front().event, FlightEvent::StepBegan);
    EXPECT_EQ(rank.moments.back().event, FlightEvent::StepEnded);
    EXPECT_EQ(rank.moments.back().trainingStep, 2);
    size_t begun = 0, ended = 0;
    for (const FlightMoment &moment : rank.moments)
      if (moment.node != noFlightNode && rank.nodes[moment.node].kind != FlightNodeKind::Compute)
        ++(moment.event == FlightEvent::Began ? begun : ended);
    EXPECT_EQ(begun, ended);
    EXPECT_GT(begun, 3u);
  }
  EXPECT_FALSE(run.autopsy().diverged);
  run.record->discard();
  EXPECT_FALSE(program::namesIn(run.folder).ok() && !program::namesIn(run.folder)->empty());
}

// The ring holds the last 4,096 events, however many there were.
TEST(WatchedSessionTest, TheLastEventsAreKept) {
  WatchedSession run({}, 60);
  for (int64_t step = 0; step < 400; ++step)
    ASSERT_TRUE(run.step(step).ok());
  Result<FlightLog> log = readFlight(run.folder + "/process-0.flight");
  ASSERT_TRUE(log.ok());
  for (const FlightRank &rank : log->ranks) {
    EXPECT_EQ(rank.moments.size(), size_t{flightRingEntries});
    EXPECT_GT(rank.earlier, 1000u);
    EXPECT_EQ(rank.moments.back().trainingStep, 399);
  }
}

// Rank 2 goes on without sending x of micro-batch 2 in step 3: rank 3 waits for it, in the end all do.
TEST(WatchedSessionTest, ASkippedSendIsFoundByJudgeAndAutopsy) {
  WatchedSession run({{Fault::Skip, 2, 0, 2, 0, 3}}, 2);
  FailureReport report = run.judgeHanging(6);
  EXPECT_EQ(report.cause, Cause::Skipped) << report.text();
  EXPECT_EQ(report.place.rank, 2) << report.text();
  EXPECT_EQ(report.place.trainingStep, 3);
  EXPECT_EQ(report.place.micro, 2u);
  AutopsyReport found = run.autopsy();
  EXPECT_TRUE(found.diverged);
  EXPECT_EQ(found.failure.place.rank, 2) << found.first << "\n" << found.second;
  EXPECT_EQ(found.failure.cause, Cause::Skipped);
}

TEST(WatchedSessionTest, ASkippedReductionIsFound) {
  WatchedSession run({{Fault::Skip, 3, 11, -1, 0, 2}}, 2);
  FailureReport report = run.judgeHanging(6);
  EXPECT_EQ(report.cause, Cause::Skipped) << report.text();
  EXPECT_EQ(report.place.rank, 3) << report.text();
  EXPECT_EQ(run.autopsy().failure.place.rank, 3) << run.autopsy().first;
}

TEST(WatchedSessionTest, ALostOperationIsFound) {
  WatchedSession run({{Fault::Drop, 0, 10, -1, 0, 1}}, 2);
  FailureReport report = run.judgeHanging(6);
  EXPECT_EQ(report.cause, Cause::Lost) << report.text();
  EXPECT_EQ(report.place.rank, 0) << report.text();
}

TEST(WatchedSessionTest, ALateOperationIsFoundWhileItIsLate) {
  WatchedSession run({{Fault::Delay, 3, 1, 1, 0.8, 1}}, 5);
  Status status;
  std::thread thread([&] {
    for (int64_t i = 0; i < 3 && status.ok(); ++i)
      status = run.step(i);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  Evidence evidence;
  evidence.processes.resize(1);
  evidence.processes[0].ranks = run.watch->ranks();
  evidence.processes[0].state = run.watch->look(true);
  for (const Question &question : questionsAbout(evidence))
    evidence.answers[question] = run.watch->joined(question);
  thread.join();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(judge(evidence).place.rank, 3) << judge(evidence).text();
}

TEST(WatchedSessionTest, AStepThatFailsIsNamed) {
  WatchedSession run({{Fault::Fail, 1, 0, 2, 0, 1}}, 60);
  EXPECT_TRUE(run.step(0).ok());
  EXPECT_EQ(run.step(1).code(), Code::RunFailed);
  Place place = run.watch->failedPlace();
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.trainingStep, 1);
  EXPECT_EQ(place.micro, 2u);
  EXPECT_EQ(place.operation, "recv x");
  AutopsyReport found = run.autopsy();
  EXPECT_TRUE(found.diverged);
  EXPECT_EQ(found.failure.place.rank, 1);
}

} // namespace
} // namespace npar::testing
