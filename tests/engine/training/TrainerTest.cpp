// The training loop on a hand-written pipeline: which steps it runs, what it reports, and how it ends.
#include "engine/training/Trainer.h"
#include "tests/engine/runtime/PipelineProgram.h"

#include <cmath>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using namespace training;

/// Records the calls, and ends the training after `most` steps in the way that the test selects.
struct Heard final : TrainingObserver {
  std::vector<int64_t> steps;
  std::vector<double> losses;
  int64_t signalAfter = -1, endAfter = -1, failAfter = -1;
  std::string wantsToEnd() override { return signalAfter >= 0 && static_cast<int64_t>(steps.size()) >= signalAfter ? "SIGTERM" : ""; }
  void finished(const StepReport &report) override { steps.push_back(report.step), losses.push_back(report.loss); }
  Result<bool> between(int64_t done, const StepReport &report) override {
    EXPECT_EQ(report.step + 1, done);
    if (done == failAfter)
      return Status::badInput("the disk is full");
    return done == endAfter;
  }
};

struct TrainerTest : ::testing::Test {
  void SetUp() override {
    program = pipelineProgram({})->load();
    ASSERT_TRUE(program);
    data = DataSource::random(5, BatchShape::of(program->root()));
  }
  Status train(TrainerOptions options, int64_t first = 0) {
    trainer = std::make_unique<Trainer>(program->root(), options, heard);
    SessionOptions own;
    own.threads = 1, own.seed = 3;
    own.note = [this](int64_t) { return trainer->note(); };
    Result<std::unique_ptr<Session>> made = Session::create(program, own);
    if (!made.ok())
      return made.status();
    session = std::move(*made);
    return trainer->run(*session, *data, first);
  }
  static TrainerOptions upTo(int64_t steps) {
    TrainerOptions options;
    options.steps = steps;
    return options;
  }
  std::shared_ptr<const program::LoadedProgram> program;
  std::unique_ptr<DataSource> data;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<Session> session;
  Heard heard;
};

TEST_F(TrainerTest, RunsTheStepsThatSessionsRun) {
  ASSERT_TRUE(train(upTo(4)).ok());
  EXPECT_EQ(heard.steps, (std::vector<int64_t>{0, 1, 2, 3}));
  SessionOptions own;
  own.threads = 1, own.seed = 3;
  std::unique_ptr<Session> alone = std::move(*Session::create(program, own));
  for (int64_t step = 0; step < 4; ++step)
    EXPECT_EQ(alone->step(data->batch(step), step)->loss, heard.losses[static_cast<size_t>(step)]) << step;
  EXPECT_EQ(alone->parameterHash(), session->parameterHash());
  const TrainingResult &result = trainer->result();
  EXPECT_EQ(result.first, 0);
  EXPECT_EQ(result.steps, 4);
  EXPECT_EQ(result.loss, heard.losses.back());
  EXPECT_GT(result.perSecond, 0);
  EXPECT_EQ(result.notFinite, 0);
  EXPECT_FALSE(result.epoch) << "random data have no end";
}

TEST_F(TrainerTest, ContinuesFromALaterStep) {
  ASSERT_TRUE(train(upTo(4), 2).ok());
  EXPECT_EQ(heard.steps, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(trainer->result().first, 2);
  ASSERT_TRUE(train(upTo(4), 4).ok());
  EXPECT_EQ(heard.steps.size(), 2u) << "all steps were done already";
  EXPECT_TRUE(std::isnan(trainer->result().loss));
}

TEST_F(TrainerTest, ASignalEndsAfterTheStep) {
  heard.signalAfter = 2;
  ASSERT_TRUE(train(upTo(9)).ok());
  EXPECT_EQ(trainer->result().steps, 2);
  EXPECT_EQ(trainer->result().stoppedBy, "SIGTERM");
}

TEST_F(TrainerTest, ASignalBeforeTheFirstStepEndsAtOnce) {
  heard.signalAfter = 0;
  ASSERT_TRUE(train(upTo(9)).ok());
  EXPECT_TRUE(heard.steps.empty());
  EXPECT_EQ(trainer->result().stoppedBy, "SIGTERM");
}

TEST_F(TrainerTest, TheObserverEndsItWellOrWithAnError) {
  heard.endAfter = 3;
  ASSERT_TRUE(train(upTo(9)).ok());
  EXPECT_EQ(trainer->result().steps, 3);
  EXPECT_EQ(trainer->result().stoppedBy, "");
  heard = {};
  heard.failAfter = 2;
  EXPECT_EQ(train(upTo(9)).message(), "the disk is full");
  EXPECT_EQ(trainer->result().steps, 2) << "what was done until then is known";
}

TEST_F(TrainerTest, AWeightThatIsNotFiniteEndsIt) {
  TrainerOptions options = upTo(3);
  trainer = std::make_unique<Trainer>(program->root(), options, heard);
  SessionOptions own;
  own.threads = 1, own.seed = 3;
  session = std::move(*Session::create(program, own));
  ASSERT_TRUE(session->writeFloat("w1", std::vector<float>(4, std::nanf(""))).ok());
  ASSERT_TRUE(trainer->run(*session, *data, 0).ok());
  EXPECT_EQ(trainer->result().steps, 1);
  EXPECT_EQ(trainer->result().notFinite, 1);
  EXPECT_NE(trainer->result().firstNotFinite.find("training step 0: "), std::string::npos) << trainer->result().firstNotFinite;
  options.endIfNotFinite = false;
  trainer = std::make_unique<Trainer>(program->root(), options, heard);
  ASSERT_TRUE(trainer->run(*session, *data, 0).ok());
  EXPECT_EQ(trainer->result().notFinite, 3);
}

TEST_F(TrainerTest, ReplicasAreComparedAndADifferenceEndsIt) {
  TrainerOptions options = upTo(5);
  options.checkReplicas = 2;
  ASSERT_TRUE(train(options).ok());
  EXPECT_FALSE(trainer->result().corrupt);
  EXPECT_EQ(trainer->result().compared, 5);
}

TEST_F(TrainerTest, BatchesAreHashedWhereThatIsWanted) {
  TrainerOptions options = upTo(1);
  options.hashBatches = true;
  struct Hashes final : TrainingObserver {
    std::string hash;
    void finished(const StepReport &report) override { hash = report.batchHash; }
  } hashes;
  trainer = std::make_unique<Trainer>(program->root(), options, hashes);
  SessionOptions own;
  own.threads = 1, own.seed = 3;
  own.note = [this](int64_t) { return trainer->note(); };
  session = std::move(*Session::create(program, own));
  ASSERT_TRUE(trainer->run(*session, *data, 0).ok());
  EXPECT_EQ(hashes.hash.size(), 32u);
}

} // namespace
} // namespace npar::testing
