// Finds the culprit from the knowledge of the processes: one small world for each cause.
#include "engine/control/Judge.h"
#include "engine/json/Json.h"

#include <gtest/gtest.h>

using namespace npar;
using namespace npar::engine;

namespace {

/// Four processes, each with the rank of its number, all in training step 7.
class JudgeTest : public ::testing::Test {
protected:
  JudgeTest() {
    evidence.processes.resize(4);
    for (uint32_t process = 0; process < 4; ++process) {
      ProcessEvidence &one = evidence.processes[process];
      one.host = process < 2 ? "left" : "right", one.pid = 100 + process, one.ranks = {process};
      one.state.emplace();
      RankState &rank = one.state->ranks.emplace_back();
      rank.place = place(process, "matmul mlp");
      rank.inStep = true;
    }
    // A watchdog has spoken, as it does when nothing moves.
    Told told;
    told.code = Code::Timeout, told.text = "no progress for 5 s";
    evidence.told.emplace_back(2, told);
  }

  static Place place(int64_t rank, const std::string &operation, int64_t step = 7) {
    return {rank, step, 1, "F0:1", operation, "gpt.npar:14:3", step};
  }
  static MeetingPlace meeting(uint32_t event, int64_t step = 7) { return {step, false, event, 1, 0, 3}; }
  RankState &rankOf(uint32_t process) { return evidence.processes[process].state->ranks[0]; }
  void wait(uint32_t rank, uint32_t event, std::vector<int64_t> missing) {
    rankOf(rank).waits.push_back({place(rank, "all_reduce " + std::to_string(event)), meeting(event), std::move(missing), false});
  }

  Evidence evidence;
};

TEST_F(JudgeTest, TheRankAtTheEndOfTheChainIsSlow) {
  wait(0, 1, {1}), wait(1, 2, {2}), wait(2, 3, {3});
  FailureReport report = judge(evidence);
  EXPECT_EQ(report.cause, Cause::Slow);
  EXPECT_EQ(report.code, Code::Timeout);
  EXPECT_EQ(report.place.rank, 3);
  EXPECT_EQ(report.process, 3);
  EXPECT_EQ(report.place.operation, "matmul mlp");
  EXPECT_EQ(report.waiting.size(), 3u);
}

TEST_F(JudgeTest, OfTwoThatWaitForNobodyTheOneThatMoreWaitFor) {
  wait(0, 1, {1}), wait(3, 1, {1}), wait(3, 2, {2});
  EXPECT_EQ(judge(evidence).place.rank, 1);
}

// Rank 1 waits in event 5 for the others, who miss it in event 4: a circle, which the answer opens.
TEST_F(JudgeTest, WhoWentPastWhatOthersWaitInHasSkippedIt) {
  wait(0, 4, {1}), wait(2, 4, {1}), wait(3, 4, {1}), wait(1, 5, {0, 2, 3});
  std::vector<Question> questions = questionsAbout(evidence);
  ASSERT_EQ(questions.size(), 4u);
  for (const Question &question : questions)
    evidence.answers[question] = question.rank == 1 ? Joined::Done : Joined::NotYet;
  FailureReport report = judge(evidence);
  EXPECT_EQ(report.cause, Cause::Skipped);
  EXPECT_EQ(report.place.rank, 1);
  EXPECT_EQ(report.place.operation, "all_reduce 4");
}

TEST_F(JudgeTest, WhoseOperationNeverReachedTheOthersHasLostIt) {
  wait(0, 4, {3}), wait(1, 4, {3}), wait(2, 4, {3});
  for (const Question &question : questionsAbout(evidence))
    evidence.answers[question] = Joined::Posted;
  FailureReport report = judge(evidence);
  EXPECT_EQ(report.cause, Cause::Lost);
  EXPECT_EQ(report.place.rank, 3);
}

// Rank 2 has joined and waits for rank 3 as the others do: that some also miss rank 2, whose part is on its way, says nothing.
TEST_F(JudgeTest, WhoWaitsInTheSameMeetingIsNotMissed) {
  wait(0, 4, {2, 3}), wait(1, 4, {2, 3}), wait(2, 4, {3});
  for (const Question &question : questionsAbout(evidence))
    evidence.answers[question] = question.rank == 2 ? Joined::Posted : Joined::NotYet;
  EXPECT_EQ(judge(evidence).place.rank, 3);
  EXPECT_EQ(judge(evidence).cause, Cause::Slow);
}

// A rank may hold back an operation when they are posted in the program's order: it has not joined.
TEST_F(JudgeTest, WhoHoldsItsPartBackIsWaitedFor) {
  wait(0, 4, {2}), wait(1, 4, {2}), wait(2, 4, {});
  for (const Question &question : questionsAbout(evidence))
    evidence.answers[question] = Joined::Posted;
  EXPECT_EQ(judge(evidence).cause, Cause::Slow);
  EXPECT_EQ(judge(evidence).place.rank, 2);
}

// Nobody has come as far as the operation that rank 1 has lost: it shows by what rank 1 itself knows.
TEST_F(JudgeTest, AnOperationThatNoCommunicatorKnowsIsLost) {
  wait(0, 9, {1}), wait(2, 9, {1});
  rankOf(1).waits.push_back({place(1, "send x"), meeting(3), {}, true});
  for (const Question &question : questionsAbout(evidence))
    evidence.answers[question] = Joined::NotYet;
  FailureReport report = judge(evidence);
  EXPECT_EQ(report.cause, Cause::Lost);
  EXPECT_EQ(report.place.rank, 1);
  EXPECT_EQ(report.place.operation, "send x");
}

TEST_F(JudgeTest, ASilentProcessExplainsWhatOthersWaitFor) {
  wait(0, 4, {1}), wait(1, 4, {3}), wait(2, 4, {1});
  evidence.processes[3].standing = ProcessEvidence::Standing::Silent;
  evidence.processes[3].silentSeconds = 5.2;
  FailureReport report = judge(evidence);
  EXPECT_EQ(report.cause, Cause::Silent);
  EXPECT_EQ(report.place.rank, 3);
  EXPECT_EQ(report.host, "right");
  EXPECT_EQ(report.lost, std::vector<uint32_t>{3});
  EXPECT_NE(report.message.find("has not answered for 5.2 s"), std::string::npos) << report.message;
}

TEST_F(JudgeTest, AWholeHostThatIsSilentHasLostItsNetwork) {
  for (uint32_t process : {2, 3})
    evidence.processes[process].standing = ProcessEvidence::Standing::Silent;
  EXPECT_NE(judge(evidence).message.find("the host or its network is down"), std::string::npos);
}

// The connection of process 2 closed; process 1 then failed to send to it. The first explains the second.
TEST_F(JudgeTest, AProcessThatIsGoneExplainsWhatOthersTell) {
  evidence.processes[2].standing = ProcessEvidence::Standing::Gone;
  evidence.processes[2].why = "its connection closed";
  evidence.gone = {2};
  Told told;
  told.code = Code::RunFailed, told.text = "cannot send";
  evidence.told.insert(evidence.told.begin(), {1, told});
  FailureReport report = judge(evidence);
  EXPECT_EQ(report.cause, Cause::Gone);
  EXPECT_EQ(report.code, Code::RunFailed);
  EXPECT_EQ(report.process, 2);
}

TEST_F(JudgeTest, AFailureIsToldAsItIs) {
  Told told;
  told.code = Code::BadInput, told.text = "rank 1: a token is out of range", told.place = place(1, "embedding");
  evidence.told.emplace_back(1, told);
  evidence.processes[3].standing = ProcessEvidence::Standing::Silent;
  FailureReport report = judge(evidence);
  EXPECT_EQ(report.cause, Cause::Failed);
  EXPECT_EQ(report.code, Code::BadInput);
  EXPECT_EQ(report.message, told.text);
  EXPECT_EQ(report.place.operation, "embedding");
}

TEST_F(JudgeTest, WhoAccusesAnotherRankIsBelieved) {
  Told told;
  told.code = Code::RunFailed, told.text = "rank 3 sends 8 bytes, 16 are due", told.accused = 3;
  evidence.told.emplace_back(1, told);
  EXPECT_EQ(judge(evidence).place.rank, 3);
  EXPECT_EQ(judge(evidence).process, 3);
}

// Rank 2 is still in step 7 when the others have ended it and wait for all between steps, where no operation is pending.
TEST_F(JudgeTest, WhoIsInAnEarlierStepHoldsTheOthersUp) {
  for (uint32_t process : {0, 1, 3})
    rankOf(process).inStep = false;
  FailureReport report = judge(evidence);
  EXPECT_EQ(report.cause, Cause::Slow);
  EXPECT_EQ(report.place.rank, 2);
}

TEST_F(JudgeTest, BetweenStepsThePhaseIsNamed) {
  for (uint32_t process = 0; process < 4; ++process)
    rankOf(process).inStep = process != 1, rankOf(process).place.round = process == 1 ? 6 : 7;
  evidence.processes[1].state->phase = "saving a checkpoint";
  wait(0, 4, {1});
  FailureReport report = judge(evidence);
  EXPECT_EQ(report.place.rank, 1);
  EXPECT_EQ(report.place.operation, "saving a checkpoint");
}

TEST_F(JudgeTest, NobodyIsBlamedWithoutEvidence) {
  FailureReport report = judge(evidence);
  EXPECT_EQ(report.cause, Cause::Unknown);
  EXPECT_EQ(report.place.rank, -1);
  EXPECT_EQ(report.message, "no progress for 5 s");
}

TEST_F(JudgeTest, AReportIsJsonWithTheFieldsThatAreDocumented) {
  wait(0, 1, {3});
  auto json = Json::parse(judge(evidence).toJson());
  EXPECT_EQ(json["rank"], 3);
  EXPECT_EQ(json["host"], "right");
  EXPECT_EQ(json["process"], 3);
  EXPECT_EQ(json["step"], 7);
  EXPECT_EQ(json["task"], "F0:1");
  EXPECT_EQ(json["micro_index"], 1);
  EXPECT_EQ(json["operation"], "matmul mlp");
  EXPECT_EQ(json["source"], "gpt.npar:14:3");
  EXPECT_EQ(json["waiting"][0]["rank"], 0);
  EXPECT_EQ(json["waiting"][0]["for"], Json::array({3}));
  evidence.processes.clear(), evidence.told.clear();
  json = Json::parse(judge(evidence).toJson());
  EXPECT_TRUE(json["rank"].is_null());
  EXPECT_TRUE(json["process"].is_null());
}

} // namespace
