// Tests watched sessions: positions of their ranks, the judge's culprit for a fault, and the flight record and its autopsy.
#include "engine/control/Autopsy.h"
#include "engine/control/Judge.h"
#include "engine/control/SessionWatches.h"
#include "engine/files/Folders.h"
#include "engine/runtime/SessionParts.h"
#include "tests/engine/comm/FaultyCommunicator.h"
#include "tests/engine/runtime/PipelineProgram.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
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
    std::filesystem::remove_all(folder);
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
    std::filesystem::remove_all(folder);
  }

  Status step(int64_t step) { return session->step({std::vector<int32_t>(32, 1)}, step).status(); }

  /// The judge's finding while the session hangs; afterwards its watchdog ends it.
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
      if (moment.node != noFlightNode && rank.nodes[moment.node].kind() != FlightNodeKind::Compute)
        ++(moment.event == FlightEvent::Began ? begun : ended);
    EXPECT_EQ(begun, ended);
    EXPECT_GT(begun, 3u);
  }
  EXPECT_FALSE(run.autopsy().diverged);
  run.record->discard();
  EXPECT_FALSE(files::namesIn(run.folder).ok() && !files::namesIn(run.folder)->empty());
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

// Rank 2 skips its send of x for micro-batch 2 in step 3: rank 3 waits for it, and in the end all do.
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

/// A training and what is evaluated between its steps: two sessions of one process, whose steps come by turns.
class TwoWatchedSessions {
public:
  explicit TwoWatchedSessions(const std::vector<Fault> &faultsOfSecond)
      : folder(::testing::TempDir() + "npar-two-watched-" + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder);
    FlightOptions flight;
    flight.folder = folder, flight.host = "here";
    record = std::move(*FlightRecord::create(flight));
    watches = std::make_unique<SessionWatches>(record.get());
    for (const std::vector<Fault> &faults : {std::vector<Fault>(), faultsOfSecond}) {
      SessionOptions options;
      options.threads = 2, options.timeoutSeconds = 2;
      SessionParts parts;
      SessionWatch &watch = watches->next();
      parts.observer = &watch;
      parts.communicator = [&](Backend &backend) { return faultyInMemory(backend, faults); };
      sessions.push_back(std::move(*createSession(pipelineProgram({})->load(), options, std::move(parts))));
      EXPECT_TRUE(watch.recordStatus().ok()) << watch.recordStatus().message();
    }
  }
  ~TwoWatchedSessions() {
    sessions.clear();
    std::filesystem::remove_all(folder);
  }
  Status step(size_t session, int64_t step) { return sessions[session]->step({std::vector<int32_t>(32, 1)}, step).status(); }
  FlightLog log() const { return *readFlight(folder + "/process-0.flight"); }

  std::string folder;
  std::unique_ptr<FlightRecord> record;
  std::unique_ptr<SessionWatches> watches;
  std::vector<std::unique_ptr<Session>> sessions;
};

TEST(WatchedSessionTest, EventsOfTwoSessionsAreKeptInTheirOrder) {
  TwoWatchedSessions run({});
  for (int64_t step = 0; step < 3; ++step) {
    ASSERT_TRUE(run.step(0, step).ok());
    EXPECT_EQ(run.watches->look(false).ranks[0].place.trainingStep, step);
    EXPECT_EQ(run.watches->look(false).ranks[0].place.round, 2 * step);
    ASSERT_TRUE(run.step(1, 0).ok()); // an evaluation begins again each time
    EXPECT_EQ(run.watches->look(false).ranks[0].place.trainingStep, 0);
    EXPECT_EQ(run.watches->look(false).ranks[0].place.round, 2 * step + 1);
  }
  EXPECT_EQ(run.watches->ranks(), (std::vector<int64_t>{0, 1, 2, 3}));
  FlightLog log = run.log();
  ASSERT_EQ(log.ranks.size(), 4u);
  for (const FlightRank &rank : log.ranks) {
    EXPECT_EQ(rank.moments.front().round, 0);
    EXPECT_EQ(rank.moments.back().round, 5);
    EXPECT_EQ(rank.moments.back().trainingStep, 0);
    size_t second = 0;
    for (size_t i = 0; i < rank.moments.size(); ++i) {
      const FlightMoment &moment = rank.moments[i];
      EXPECT_GE(moment.round, i ? rank.moments[i - 1].round : 0);
      if (moment.node == noFlightNode)
        continue;
      EXPECT_EQ(rank.nodes[moment.node].session(), moment.round % 2); // whose nodes these are
      EXPECT_FALSE(log.names[rank.nodes[moment.node].operation()].empty());
      second += rank.nodes[moment.node].session();
    }
    EXPECT_GT(second, 3u);
  }
  EXPECT_FALSE(autopsy({log}).diverged);
  // An operation that ended in one evaluation has not ended in the next.
  const FlightRank &rank = log.ranks[0];
  auto node = std::find_if(rank.nodes.begin(), rank.nodes.end(),
                           [](const FlightNode &each) { return each.session() == 1 && each.kind() == FlightNodeKind::Collective; });
  ASSERT_NE(node, rank.nodes.end());
  const std::vector<int64_t> &members = log.groups[node->group()];
  MeetingPlace meeting = {5, false, node->event(), node->micro(), members.front(), members.back(), 1};
  EXPECT_EQ(run.watches->joined({0, meeting}), Joined::Done);
  meeting.round = 6;
  EXPECT_EQ(run.watches->joined({0, meeting}), Joined::NotYet);
  meeting.session = 2; // which this process does not have
  EXPECT_EQ(run.watches->joined({0, meeting}), Joined::NotYet);
}

// Rank 2 skips sending x of micro-batch 2 in the second evaluation, after it sent it in the same step of the first one.
TEST(WatchedSessionTest, AFaultOfTheSecondSessionIsFound) {
  TwoWatchedSessions run({{Fault::Skip, 2, 0, 2, 0, 1}});
  for (int64_t step = 0; step < 2; ++step)
    ASSERT_TRUE(run.step(0, step).ok());
  ASSERT_TRUE(run.step(1, 0).ok());
  ASSERT_TRUE(run.step(0, 2).ok());
  Status status;
  std::thread thread([&] { status = run.step(1, 0); });
  std::this_thread::sleep_for(std::chrono::milliseconds(900));
  Evidence evidence;
  evidence.processes.resize(1);
  evidence.processes[0].ranks = run.watches->ranks();
  evidence.processes[0].state = run.watches->look(true);
  for (const Question &question : questionsAbout(evidence))
    evidence.answers[question] = run.watches->joined(question);
  thread.join();
  EXPECT_EQ(status.code(), Code::Timeout) << status.message();
  FailureReport report = judge(evidence);
  EXPECT_EQ(report.cause, Cause::Skipped) << report.text();
  EXPECT_EQ(report.place.rank, 2) << report.text();
  EXPECT_EQ(report.place.round, 4);
  AutopsyReport found = autopsy({run.log()});
  EXPECT_TRUE(found.diverged);
  EXPECT_EQ(found.failure.cause, Cause::Skipped) << found.first;
  EXPECT_EQ(found.failure.place.rank, 2) << found.first;
}

} // namespace
} // namespace npar::testing
