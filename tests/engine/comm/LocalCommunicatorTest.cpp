// Runs the conformance suite on the local communicator, alone and behind a FaultyCommunicator without faults.
#include "engine/comm/local/LocalCommunicator.h"
#include "engine/backends/cpu/CpuBackend.h"
#include "engine/comm/local/Exchange.h"
#include "tests/engine/comm/CommunicatorConformance.h"
#include "tests/engine/comm/FaultyCommunicator.h"
#include "tests/engine/device/OffsetBackend.h"

namespace npar::testing {
namespace {

using namespace engine;

struct Local {
  Local(int threads) : backend(std::make_unique<CpuBackend>(Spread{threads, true})), communicator(*backend) {}
  Local(bool queued)
      : backend(std::make_unique<OffsetBackend>(std::make_unique<CpuBackend>(Spread{1, false}), queued)), communicator(*backend) {}
  std::unique_ptr<Backend> backend;
  LocalCommunicator communicator;
};

template <typename Of> World makeLocal(Of of) {
  auto local = std::make_shared<Local>(of);
  return {{{local->backend.get(), &local->communicator}}, local};
}

World makeWithoutFaults() {
  struct Both {
    Local local{1};
    FaultyCommunicator faulty{local.communicator, {}};
  };
  auto both = std::make_shared<Both>();
  return {{{both->local.backend.get(), &both->faulty}}, both};
}

/// Part after part of a bucket of rank `rank` of two.
std::vector<Operation> bucketOf(uint32_t rank, size_t parts) {
  static const int64_t members[] = {0, 1};
  std::vector<Operation> all(parts);
  for (size_t i = 0; i < parts; ++i) {
    all[i].members = members, all[i].memberCount = 2, all[i].member = rank, all[i].count = 8;
    all[i].next = i + 1 < parts ? &all[i + 1] : nullptr;
  }
  return all;
}

// A worker's stack does not grow with the parts.
TEST(ExchangeTest, membersAgreeInEveryPart) {
  constexpr size_t parts = 200000;
  std::vector<Operation> left = bucketOf(0, parts), right = bucketOf(1, parts), shorter = bucketOf(1, parts - 1);
  EXPECT_EQ(disagreement(left[0], right[0]), "");
  EXPECT_EQ(disagreement(left[0], shorter[0]), "rank 0 and rank 1 have different numbers of parts");
  right.back().count = 9;
  EXPECT_EQ(disagreement(left[0], right[0]), "number of elements of rank 0 is 8, of rank 1 is 9");
}

TEST(LocalCommunicatorTest, ranksInOtherSessionsAreRefused) {
  Local local(1);
  CommunicationPlan plan;
  plan.sessionOf = {0, 0, 1, 1}, plan.ranks = {0, 1};
  EXPECT_EQ(local.communicator.prepare(plan).message(), "2 of 4 ranks are in other sessions, which the local communicator does not reach");
}

// Ranks work in the processor's memory or, with "offset" and "queued", in memory that only its backend can dereference; with "queued" work
// also continues after the call that starts it.
INSTANTIATE_TEST_SUITE_P(Local, CommunicatorConformance,
                         ::testing::Values(CommunicatorCase{"oneThread", [] { return makeLocal(1); }},
                                           CommunicatorCase{"fourThreads", [] { return makeLocal(4); }},
                                           CommunicatorCase{"offset", [] { return makeLocal(false); }},
                                           CommunicatorCase{"queued", [] { return makeLocal(true); }},
                                           CommunicatorCase{"faultyWithoutFaults", makeWithoutFaults}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace npar::testing
