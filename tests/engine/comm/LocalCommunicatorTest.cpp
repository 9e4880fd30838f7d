// The local communicator, plain and behind delays, against the conformance suite.
#include "engine/comm/local/LocalCommunicator.h"
#include "engine/backends/cpu/CpuBackend.h"
#include "engine/comm/faulty/FaultyCommunicator.h"
#include "tests/engine/comm/CommunicatorConformance.h"

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

INSTANTIATE_TEST_SUITE_P(All, CommunicatorConformance,
                         ::testing::Values(CommunicatorCase{"localOneThread", [] { return makeLocal(1); }},
                                           CommunicatorCase{"localFourThreads", [] { return makeLocal(4); }},
                                           CommunicatorCase{"faultyWithoutFaults", makeWithoutFaults}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace npar::testing
