// Ranks on GPUs of several processes, joined by NCCL: what holds for ranks of one process holds for those of several.
#include "engine/backends/cuda/nccl/NcclAbi.h"
#include "tests/engine/backends/cuda/Joined.h"
#include "tests/engine/comm/ConformanceGroup.h"
#include "tests/engine/comm/process/RandomOperations.h"

#include <cstdlib>
#include <dlfcn.h>

namespace npar::testing {
namespace {

using namespace engine;

World joined(size_t count) {
  auto processes = std::make_shared<Joined>(count);
  World world;
  world.parts = processes;
  for (size_t process = 0; process < count; ++process)
    world.sessions.push_back({processes->backends[process].get(), processes->communicators[process].get()});
  return world;
}

INSTANTIATE_TEST_SUITE_P(Nccl, CommunicatorConformance,
                         ::testing::Values(CommunicatorCase{"one", [] { return joined(1); }},
                                           CommunicatorCase{"two", [] { return joined(2); }},
                                           CommunicatorCase{"three", [] { return joined(3); }},
                                           CommunicatorCase{"eight", [] { return joined(8); }}),
                         [](const auto &info) { return info.param.name; });

// Operations of all kinds, types, sizes and groups: members of a group in one process or in several, operands in one run or in many.
TEST(NcclTest, operationsAtRandomHaveTheBitsOfOneProcess) {
  size_t operations = std::getenv("NPAR_LONG") ? 100 : 18; // a process has memory for some 30,000 operands
  uint64_t seed = 1;
  for (auto [count, world] : {std::pair<size_t, int64_t>(2, 7), {3, 8}, {8, 11}, {2, 2}}) {
    Joined processes(count);
    RandomOptions options{seed++, operations, world, 6};
    for (const std::string &wrong : processes.told([&](uint32_t process) {
           return whatDiffersAtRandom(*processes.communicators[process], *processes.backends[process], process,
                                      static_cast<uint32_t>(count), options);
         }))
      EXPECT_EQ(wrong, "") << count << " processes, " << world << " ranks";
  }
}

/// Returns the message of `prepare` in each of two processes of one rank that plan all_reduces of these element counts.
std::vector<std::string> prepared(Joined &processes, std::vector<uint64_t> counts) {
  static const int64_t members[] = {0, 1};
  return processes.told([&](uint32_t process) {
    Operation operation;
    operation.members = members, operation.memberCount = 2, operation.member = process, operation.count = counts[process];
    CommunicationPlan plan;
    plan.sessionOf = {0, 1}, plan.ranks = {process}, plan.operations = {&operation};
    return processes.communicators[process]->prepare(plan).message();
  });
}

TEST(NcclTest, processesThatShareADeviceAreNotJoined) {
  Joined must(2, /*required=*/true, /*devices=*/1);
  std::string why = "devices are not joined: process 0 and process 1 share a device";
  EXPECT_EQ(prepared(must, {8, 8}), (std::vector<std::string>{why, why}));
  Joined may(2, /*required=*/false, /*devices=*/1);
  EXPECT_EQ(prepared(may, {8, 8}), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(may.remarks, (std::vector<std::string>{why, why}));
}

TEST(NcclTest, plansThatDifferAreRefused) {
  Joined same(2), other(2);
  EXPECT_EQ(prepared(same, {8, 8}), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(prepared(other, {8, 9}), (std::vector<std::string>{"processes 0 and 1 plan different communication for the group of rank 0",
                                                               "processes 1 and 0 plan different communication for the group of rank 0"}));
}

// A message never arrives: a process that is told to stop ends, and the device's memory can be released.
TEST(NcclTest, anAbortEndsMessagesUnderWay) {
  World world = joined(2);
  world.prepare();
  Group<float> group(world, 2, 1000, 1000);
  world.post(group.operation(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(group.answers[0].calls, 0);
  world.sessions[0].communicator->abort(Status::runFailed("rank 9 broke"));
  ASSERT_TRUE(group.answers[0].done());
  EXPECT_EQ(group.answers[0].status.message(), "rank 9 broke");
}

// NCCL itself, where it is: whatever npar calls is there.
TEST(NcclTest, theLibraryHasWhatIsCalled) {
  void *library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    library = ::dlopen("/usr/local/cuda/lib64/libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    GTEST_SKIP() << "libnccl.so.2 is not installed";
#define NPAR_NCCL_NAME(MEMBER, SYMBOL, RESULT, PARAMETERS) #SYMBOL,
  for (const char *name : {NPAR_NCCL_FUNCTIONS(NPAR_NCCL_NAME)})
    EXPECT_NE(::dlsym(library, name), nullptr) << name;
#undef NPAR_NCCL_NAME
  int version = 0;
  auto getVersion = reinterpret_cast<decltype(cuda::NcclFunctions::getVersion)>(::dlsym(library, "ncclGetVersion"));
  ASSERT_NE(getVersion, nullptr);
  EXPECT_EQ(getVersion(&version), cuda::NcclCode::Success);
  EXPECT_GE(version, 21801);
  std::printf("NCCL %d\n", version);
}

} // namespace
} // namespace npar::testing
