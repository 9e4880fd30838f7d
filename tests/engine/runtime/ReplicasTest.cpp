// Replicas of parameters: equal in a sound training, and named where one rank computed or kept something else.
#include "engine/runtime/Replicas.h"
#include "tests/engine/runtime/PipelineProgram.h"
#include "tests/engine/runtime/Sessions.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

/// Eight ranks: stage 0 has the even ones and w0, stage 1 the odd ones and w1.
PipelineShape fourReplicas() { return {4, 4, 64, true, true}; }

class ReplicasTest : public ::testing::Test {
protected:
  ReplicasTest() : program(pipelineProgram(fourReplicas())->load()) {
    options.session.threads = 2, options.session.seed = 3, options.session.timeoutSeconds = 20;
  }

  /// Trains for some steps and compares; all sessions must find the same.
  std::optional<ReplicaDifference> found(Sessions &sessions, int64_t steps) {
    for (int64_t step = 0; step < steps; ++step)
      for (const Status &status : sessions.step({std::vector<int32_t>(64, 1)}, step))
        EXPECT_TRUE(status.ok()) << status.message();
    return compared(sessions);
  }
  std::optional<ReplicaDifference> compared(Sessions &sessions) {
    std::vector<std::string> texts;
    std::optional<ReplicaDifference> first;
    auto all = sessions.each([&](Session &session) {
      Result<std::optional<ReplicaDifference>> result = compareReplicas(session, program->root());
      EXPECT_TRUE(result.ok()) << result.status().message();
      return *result;
    });
    for (const std::optional<ReplicaDifference> &each : all)
      texts.push_back(each ? each->text() : "");
    EXPECT_EQ(texts, std::vector<std::string>(texts.size(), texts[0]));
    return all[0];
  }

  std::shared_ptr<const program::LoadedProgram> program;
  SessionsOptions options;
};

TEST_F(ReplicasTest, ASoundTrainingHasNoDifference) {
  for (size_t count : {1, 2, 4, 8}) {
    options.count = count, options.local = count == 1, options.processes = count == 4;
    Sessions sessions(program, options);
    EXPECT_FALSE(found(sessions, 0).has_value());
    EXPECT_FALSE(found(sessions, 3).has_value());
  }
}

// Rank 5 gets a sum of gradients with a wrong bit in step 1: its w1 is another one from then on.
TEST_F(ReplicasTest, ARankWithAWrongBitIsNamed) {
  for (size_t count : {1, 2, 4}) {
    options.count = count, options.local = count == 1, options.processes = count == 4;
    options.faults = {{Fault::Corrupt, 5, 11, -1, 0, 1}};
    Sessions sessions(program, options);
    EXPECT_FALSE(found(sessions, 1).has_value());
    for (const Status &status : sessions.step({std::vector<int32_t>(64, 1)}, 1))
      ASSERT_TRUE(status.ok()) << status.message();
    std::optional<ReplicaDifference> difference = compared(sessions);
    ASSERT_TRUE(difference.has_value()) << count << " sessions";
    EXPECT_EQ(difference->variable, "w1");
    EXPECT_TRUE(difference->parameter);
    ASSERT_EQ(difference->groups.size(), 2u);
    EXPECT_EQ(difference->groups[0].ranks, (std::vector<int64_t>{1, 3, 7}));
    EXPECT_EQ(difference->groups[1].ranks, std::vector<int64_t>{5});
    EXPECT_NE(difference->groups[0].hash, difference->groups[1].hash);
    EXPECT_EQ(difference->text(), "parameter 'w1' differs between ranks that keep the same elements of it: ranks 1, 3, 7 have hash " +
                                      difference->groups[0].hash + ", rank 5 has hash " + difference->groups[1].hash);
  }
}

// Memory of one process alone that is written to by something else.
TEST_F(ReplicasTest, AProcessWhoseMemoryChangesIsNamed) {
  options.count = 4, options.processes = true;
  Sessions sessions(program, options);
  EXPECT_FALSE(found(sessions, 2).has_value());
  ASSERT_TRUE(sessions.sessions[3]->write("w0", std::vector<double>(64, 0.5)).ok());
  ASSERT_TRUE(sessions.sessions[3]->write("w1", std::vector<double>(64, 0.5)).ok());
  std::optional<ReplicaDifference> difference = compared(sessions);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->variable, "w0"); // the first one
  EXPECT_EQ(difference->more, 1u);
  EXPECT_EQ(difference->groups.back().ranks, std::vector<int64_t>{6});
}

} // namespace
} // namespace npar::testing
