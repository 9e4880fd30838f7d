// Runs the conformance suite on sessions that exchange only bytes: ranks of several processes behave like ranks of one.
#include "tests/engine/comm/BytesCommunicator.h"
#include "engine/backends/cpu/CpuBackend.h"
#include "tests/engine/comm/CommunicatorConformance.h"
#include "tests/engine/device/OffsetBackend.h"

namespace npar::testing {
namespace {

using namespace engine;

struct Sessions {
  /// Each session has its own kind of memory: the processor's, or a kind that only its backend can dereference.
  Sessions(size_t count, bool queued) : queues(std::make_shared<ByteQueues>(count)) {
    for (size_t session = 0; session < count; ++session) {
      auto cpu = std::make_unique<CpuBackend>(Spread{1, false});
      if (queued)
        backends.push_back(std::make_unique<OffsetBackend>(std::move(cpu), true));
      else
        backends.push_back(std::move(cpu));
      communicators.push_back(std::make_unique<BytesCommunicator>(*backends.back(), queues, session));
    }
  }
  std::shared_ptr<ByteQueues> queues;
  std::vector<std::unique_ptr<Backend>> backends;
  std::vector<std::unique_ptr<BytesCommunicator>> communicators;
};

World makeSessions(size_t count, bool queued) {
  auto sessions = std::make_shared<Sessions>(count, queued);
  World world;
  world.parts = sessions;
  for (size_t session = 0; session < count; ++session)
    world.sessions.push_back({sessions->backends[session].get(), sessions->communicators[session].get()});
  return world;
}

INSTANTIATE_TEST_SUITE_P(Bytes, CommunicatorConformance,
                         ::testing::Values(CommunicatorCase{"oneSession", [] { return makeSessions(1, false); }},
                                           CommunicatorCase{"twoSessions", [] { return makeSessions(2, false); }},
                                           CommunicatorCase{"twoSessionsQueued", [] { return makeSessions(2, true); }},
                                           CommunicatorCase{"fourSessions", [] { return makeSessions(4, false); }}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace npar::testing
