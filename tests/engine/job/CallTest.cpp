// Processes compare their calls: the same one, different ones, refused ones, different arguments, and a process that is still inside a
// call.
#include "engine/job/Call.h"

#include <gtest/gtest.h>

namespace npar::job {
namespace {

using engine::Code;
using engine::Status;
using Bytes = std::vector<std::vector<uint8_t>>;

const std::vector<std::string> callers = {"process 0 on 'a'", "process 1 on 'a'", "process 2 on 'b'"};

Call step(const std::string &hash) { return {"takes step 3", {}, hash, "the batch", "every process must pass the whole global batch"}; }

/// Returns each process's error.
std::vector<std::string> agree(const std::vector<Call> &calls) {
  Bytes gathered;
  for (const Call &call : calls)
    gathered.push_back(packBeginning(call));
  std::vector<std::string> told;
  for (size_t i = 0; i < calls.size(); ++i)
    told.push_back(agreeOnCall(gathered, calls[i], i, callers).message());
  return told;
}

TEST(Call, EqualCallsAgree) { EXPECT_EQ(agree({step("1"), step("1"), step("1")}), std::vector<std::string>(3)); }

TEST(Call, DifferentCallsAreBothNamed) {
  const std::vector<std::string> told = agree({step("1"), step("1"), {"reads 'w'"}});
  const std::string rule = ": all processes of a job must make the same calls in the same order";
  EXPECT_EQ(told[0], "process 0 on 'a' takes step 3, but process 2 on 'b' reads 'w'" + rule);
  EXPECT_EQ(told[1], "process 1 on 'a' takes step 3, but process 2 on 'b' reads 'w'" + rule);
  EXPECT_EQ(told[2], told[0]);
}

TEST(Call, DifferentArgumentsAreNamed) {
  const std::string differs =
      "the batch of process 1 on 'a' differs from that of process 0 on 'a': every process must pass the whole global batch";
  EXPECT_EQ(agree({step("1"), step("2"), step("1")}), std::vector<std::string>(3, differs));
}

TEST(Call, ARefusalReachesAllAndKeepsItsCode) {
  Call refused = step("");
  refused.refusal = Status::stopped("the step");
  const std::string others = "process 1 on 'a' fails before it takes step 3: the step was stopped";
  EXPECT_EQ(agree({step("1"), refused, step("1")}), (std::vector<std::string>{others, "the step was stopped", others}));
  EXPECT_EQ(agreeOnCall({packBeginning(step("1")), packBeginning(refused)}, step("1"), 0, callers).code(), Code::Stopped);
}

TEST(Call, AProcessInsideACallIsNotAtTheNextOne) {
  const Call save = {"saves a checkpoint in 'run'"};
  Bytes gathered = {packInside(save, {7}), packBeginning(save)};
  const std::string told = "process 0 on 'a' has not ended this call: it saves a checkpoint in 'run', but process 1 on 'a' saves a "
                           "checkpoint in 'run': all processes of a job must make the same calls in the same order";
  EXPECT_EQ(contentsInside(gathered, 0, callers).status().message(), told);
  EXPECT_EQ(agreeOnCall(gathered, save, 1, callers).message(), told);
  gathered[1] = packInside(save, {8});
  EXPECT_EQ(*contentsInside(gathered, 1, callers), (Bytes{{7}, {8}}));
}

TEST(Call, OtherBytesAreRefused) {
  EXPECT_EQ(agreeOnCall({packBeginning(step("1")), {1, 2, 3}}, step("1"), 0, callers).code(), Code::Internal);
}

} // namespace
} // namespace npar::job
