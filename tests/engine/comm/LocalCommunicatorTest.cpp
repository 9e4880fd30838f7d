// The local communicator, plain and with delays, against the conformance suite.
#include "engine/comm/local/LocalCommunicator.h"
#include "engine/backends/cpu/CpuBackend.h"
#include "engine/comm/local/Exchange.h"
#include "tests/engine/comm/CommunicatorConformance.h"
#include "tests/engine/comm/FaultyCommunicator.h"

namespace npar::testing {
namespace {

using namespace engine;

struct Local {
  explicit Local(int threads) : backend(Spread{threads, true}), communicator(backend) {}
  CpuBackend backend;
  LocalCommunicator communicator;
};

std::shared_ptr<Communicator> makeLocal(int threads) {
  auto local = std::make_shared<Local>(threads);
  return {local, &local->communicator};
}

std::shared_ptr<Communicator> makeWithoutFaults() {
  struct Both {
    Local local{1};
    FaultyCommunicator faulty{local.communicator, {}};
  };
  auto both = std::make_shared<Both>();
  return {both, &both->faulty};
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

INSTANTIATE_TEST_SUITE_P(All, CommunicatorConformance,
                         ::testing::Values(CommunicatorCase{"localOneThread", [] { return makeLocal(1); }},
                                           CommunicatorCase{"localFourThreads", [] { return makeLocal(4); }},
                                           CommunicatorCase{"faultyWithoutFaults", makeWithoutFaults}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace npar::testing
