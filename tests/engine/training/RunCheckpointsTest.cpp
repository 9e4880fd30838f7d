// The checkpoints of a run on a hand-written pipeline: saved in time, resumed from, kept, and what is refused.
#include "engine/training/RunCheckpoints.h"

#include "tests/engine/runtime/PipelineProgram.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;
using training::CheckpointPlan;
using training::Interval;
using training::RunCheckpoints;
using training::RunClock;
namespace fs = std::filesystem;

struct Remarks final : Observer {
  void remark(const std::string &sentence) override { sentences.push_back(sentence); }
  std::vector<std::string> sentences;
};

struct RunCheckpointsTest : ::testing::Test {
  void SetUp() override {
    program = pipelineProgram({})->load();
    ASSERT_TRUE(program);
    folder = ::testing::TempDir() + "npar-run-checkpoints-" + std::to_string(::getpid());
    fs::remove_all(folder);
  }
  void TearDown() override { fs::remove_all(folder); }
  CheckpointPlan plan(int64_t steps, bool resume) {
    CheckpointPlan plan;
    clock = RunClock(steps);
    plan.folder = folder, plan.every = Interval(2), plan.clock = &clock, plan.resume = resume;
    return plan;
  }
  /// Trains up to the plan's steps. The loss of step `best` counts as the best one.
  Status train(const CheckpointPlan &plan, int64_t best = -1) {
    RunCheckpoints checkpoints(plan, heard);
    TRY_STATUS(checkpoints.look());
    TRY_STATUS(checkpoints.choose(alone));
    first = checkpoints.firstStep();
    BatchShape shape = BatchShape::of(program->root());
    std::unique_ptr<DataSource> data = DataSource::random(5, shape);
    TRY_STATUS(checkpoints.goOn(program->root(), *data, shape));
    SessionOptions options;
    options.threads = 1, options.seed = checkpoints.seed(program->root()), options.initialise = !checkpoints.resumes();
    TRY(std::unique_ptr<Session> session, Session::create(program, options));
    TRY_STATUS(checkpoints.open(alone, *session, program));
    bestBefore = checkpoints.bestBefore("loss");
    for (int64_t step = first; step < clock.steps(); ++step) {
      TRY(StepResult result, session->step(data->batch(step), step));
      TRY_STATUS(checkpoints.afterStep(step + 1, result.learningRate));
      if (step + 1 == best)
        TRY_STATUS(checkpoints.keepBest(best, "loss", 0.5));
    }
    TRY_STATUS(checkpoints.atEnd(clock.steps(), /*sound=*/true));
    newest = checkpoints.newest(), hash = session->parameterHash();
    return {};
  }
  bool exists(const std::string &name) const { return fs::exists(folder + "/" + name); }

  program::ProgramPointer program;
  job::Processes alone;
  RunClock clock{0};
  Remarks heard;
  std::string folder, newest, hash;
  int64_t first = 0;
  std::optional<std::pair<int64_t, double>> bestBefore;
};

TEST_F(RunCheckpointsTest, ResumesWithTheSameBits) {
  ASSERT_TRUE(train(plan(6, false)).ok());
  EXPECT_EQ(newest, folder + "/step-6");
  std::string straight = hash;
  fs::remove_all(folder);
  ASSERT_TRUE(train(plan(3, false)).ok());
  EXPECT_TRUE(exists("step-2") && exists("step-3"));
  heard.sentences.clear();
  Status status = train(plan(6, true));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(first, 3);
  EXPECT_EQ(hash, straight);
  ASSERT_FALSE(heard.sentences.empty());
  EXPECT_EQ(heard.sentences[0], "resuming from '" + folder + "/step-3': 3 of 6 steps are done");
}

TEST_F(RunCheckpointsTest, SavesAnyStepNow) {
  RunCheckpoints checkpoints(plan(0, false), heard);
  ASSERT_TRUE(checkpoints.look().ok());
  BatchShape shape = BatchShape::of(program->root());
  std::unique_ptr<DataSource> data = DataSource::random(5, shape);
  ASSERT_TRUE(checkpoints.goOn(program->root(), *data, shape).ok());
  SessionOptions options;
  options.threads = 1, options.seed = 5;
  Result<std::unique_ptr<Session>> session = Session::create(program, options);
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE(checkpoints.open(alone, **session, program).ok());
  ASSERT_TRUE(checkpoints.atEnd(0, /*sound=*/true).ok());
  EXPECT_FALSE(exists("step-0")); // a run that did nothing
  for (int time = 0; time < 2; ++time) {
    Status saved = checkpoints.saveNow(0, 0);
    ASSERT_TRUE(saved.ok()) << saved.message();
    EXPECT_EQ(checkpoints.newest(), folder + "/step-0");
  }
  EXPECT_TRUE(exists("step-0.aside"));
  ASSERT_FALSE(heard.sentences.empty());
  EXPECT_EQ(heard.sentences.back(), "another '" + folder + "/step-0' was there: it is 'step-0.aside' now");
}

TEST_F(RunCheckpointsTest, RefusesToMixTrainings) {
  ASSERT_TRUE(train(plan(2, false)).ok());
  Status again = train(plan(4, false));
  EXPECT_EQ(again.code(), Code::BadInput);
  EXPECT_EQ(again.message(), "'" + folder +
                                 "' contains checkpoints of a training, the newest of step 2: give --resume to continue from it, "
                                 "or name another folder");
  CheckpointPlan other = plan(4, true);
  other.seed = program->root().seed() + 1;
  EXPECT_NE(train(other).message().find("a training must continue with its original seed"), std::string::npos);
}

TEST_F(RunCheckpointsTest, TheBestStaysAndIsRemembered) {
  CheckpointPlan one = plan(6, false);
  one.keep = 1;
  ASSERT_TRUE(train(one, /*best=*/2).ok());
  EXPECT_TRUE(exists("best.json") && exists("step-2") && exists("step-6"));
  EXPECT_FALSE(exists("step-4"));
  one.resume = true, clock = RunClock(7);
  ASSERT_TRUE(train(one).ok());
  EXPECT_EQ(bestBefore, (std::pair<int64_t, double>(2, 0.5)));
  EXPECT_TRUE(exists("step-2"));
}

TEST_F(RunCheckpointsTest, WithoutAFolderNothingHappens) {
  CheckpointPlan none = plan(2, true);
  none.folder.clear(), none.resume = false;
  ASSERT_TRUE(train(none).ok());
  EXPECT_EQ(newest, "");
}

} // namespace
} // namespace npar::testing
