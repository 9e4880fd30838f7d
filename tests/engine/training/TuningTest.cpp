// The fastest of several programs is kept, and their steps are those of one program.
#include "engine/training/Tuning.h"
#include "tests/engine/runtime/PipelineProgram.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using namespace training;

TEST(TuningTest, timesAreMedians) {
  TunedTime time = tunedTimeOf({5, 1, 2, 90, 3});
  EXPECT_EQ(time.seconds, 3);
  EXPECT_EQ(time.spread, 2);
  EXPECT_EQ(tunedTimeOf({4, 2}).seconds, 3);
}

TEST(TuningTest, theFirstStaysUnlessAnotherIsClearlyFaster) {
  EXPECT_EQ(fastestOf({{1, 0}, {0.995, 0}}), 0u) << "less than 1 %";
  EXPECT_EQ(fastestOf({{1, 0}, {0.9, 0}, {0.8, 0}}), 2u);
  EXPECT_EQ(fastestOf({{1, 0.06}, {0.9, 0.05}}), 0u) << "within the spread of both";
  EXPECT_EQ(fastestOf({{1, 0.06}, {0.8, 0.05}}), 1u);
  EXPECT_EQ(fastestOf({{1, 0}, {2, 0}}), 0u);
}

struct TunedSession : ::testing::Test {
  void SetUp() override {
    program = pipelineProgram({})->load();
    ASSERT_TRUE(program);
    tokens = someTokens({});
  }
  Result<std::unique_ptr<Session>> create(const Tuning &tuning) {
    options.threads = 1, options.seed = 3;
    options.guests = tuning.guests();
    return Session::create(program, options);
  }

  std::shared_ptr<const program::LoadedProgram> program;
  std::vector<int32_t> tokens;
  SessionOptions options;
};

// Three programs take turns; the slowest two are dropped, and the last step of all has the parameters of a run of one program.
TEST_F(TunedSession, stepsContinueInOneMemory) {
  Tuning tuning({{"a", program}, {"b", program}, {"c", program}});
  ASSERT_TRUE(tuning.planFor(13).ok());
  EXPECT_EQ(tuning.steps(), 12);
  auto host = create(tuning), plain = create(Tuning());
  ASSERT_TRUE(host.ok() && plain.ok());
  job::Processes alone;
  ASSERT_TRUE(tuning.open(alone, options, **host).ok());
  for (int64_t step = 0; step < 13; ++step) {
    Session &running = tuning.runs(**host);
    EXPECT_EQ(&running == &**host, step < 12 && step % 3 == 0) << step;
    auto result = running.step({tokens}, step), expected = (*plain)->step({tokens}, step);
    ASSERT_TRUE(result.ok() && expected.ok());
    EXPECT_EQ(result->loss, expected->loss) << step;
    Result<bool> ended = tuning.record(**host, step % 3 == 1 ? 0.5 : step < 3 ? 0.1 : 1);
    ASSERT_TRUE(ended.ok());
    EXPECT_EQ(*ended, step == 11) << step;
  }
  EXPECT_EQ(tuning.kept(), 1u);
  EXPECT_EQ(tuning.times()[0].seconds, 1) << "the first turn does not count";
  EXPECT_EQ((*host)->parameterHash(), (*plain)->parameterHash());
}

TEST_F(TunedSession, aShortRunIsRefused) {
  Tuning tuning({{"a", program}, {"b", program}});
  Status status = tuning.planFor(5);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("tuning compares 2 programs in 6 steps at least, but this run has 5"), std::string::npos)
      << status.message();
  EXPECT_TRUE(Tuning({{"a", program}}).planFor(1).ok()) << "there is nothing to try";
}

} // namespace
} // namespace npar::testing
