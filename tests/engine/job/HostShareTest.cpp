// The processes of a host share its ranks and processors; a process alone agrees with itself.
#include "engine/job/HostShare.h"
#include "engine/job/Processes.h"

#include <gtest/gtest.h>

namespace npar::job {
namespace {

/// Two processes on host 'a' with four processors, one on 'b' with two.
std::vector<Introduction> three() {
  std::vector<Introduction> processes(3);
  processes[0].host = processes[1].host = "a", processes[2].host = "b";
  processes[0].processors = processes[1].processors = {1, 1, 1, 1}, processes[2].processors = {1, 1};
  return processes;
}

TEST(HostShareTest, ProcessesOfAHostAreItsCrew) {
  EXPECT_EQ(crewOf(three(), 0, 3, "cpu").processes, 2);
  EXPECT_EQ(crewOf(three(), 1, 3, "cpu").workers, 3);
  EXPECT_EQ(crewOf(three(), 2, 3, "null").processes, 1);
  EXPECT_EQ(crewOf(three(), 2, 3, "null").backend, "null");
}

TEST(HostShareTest, ProcessesShareTheProcessorsOfAHost) {
  EXPECT_EQ(*workersOf(three(), 0, 0), 2);
  EXPECT_EQ(*workersOf(three(), 2, 0), 2);
  EXPECT_EQ(*workersOf(three(), 0, 4), 4);
  engine::Result<int> many = workersOf(three(), 2, 4);
  EXPECT_EQ(many.status().code(), engine::Code::BadInput);
  EXPECT_EQ(many.status().message(), "--threads 4: host 'b' has only 2 processors; without the flag its processes share them");
}

TEST(ProcessesTest, AProcessAloneAgreesWithItself) {
  Processes alone;
  EXPECT_TRUE(alone.isAlone() && alone.isFirst());
  EXPECT_EQ(alone.gather({1, 2})->size(), 1u);
  EXPECT_EQ(*alone.decide([] { return std::string("this"); }), "this");
  EXPECT_EQ(alone.agree(engine::Status::badInput("wrong")).message(), "wrong");
  EXPECT_TRUE(alone.agree({}).ok());
  EXPECT_EQ(alone.crew(2, "cpu").processes, 1);
}

} // namespace
} // namespace npar::job
