// Ranks in several processes over a network of queues, against the conformance suite: what holds for ranks of one process holds for those
// of several.
#include "engine/backends/cpu/CpuBackend.h"
#include "tests/engine/comm/CommunicatorConformance.h"
#include "tests/engine/comm/process/QueueProcesses.h"
#include "tests/engine/device/OffsetBackend.h"

namespace npar::testing {
namespace {

using namespace engine;

enum class Memory { Processor, Offset, Queued };

struct Processes {
  Processes(size_t count, QueueOptions options, Memory memory) : queues(count, options) {
    for (size_t process = 0; process < count; ++process) {
      auto cpu = std::make_unique<CpuBackend>(Spread{1, false});
      if (memory == Memory::Processor)
        backends.push_back(std::move(cpu));
      else
        backends.push_back(std::make_unique<OffsetBackend>(std::move(cpu), memory == Memory::Queued));
      communicators.push_back(queues.communicator(process, *backends.back()));
    }
  }
  QueueProcesses queues;
  std::vector<std::unique_ptr<Backend>> backends;
  std::vector<std::shared_ptr<Communicator>> communicators;
};

World makeProcesses(size_t count, QueueOptions options = {}, Memory memory = Memory::Processor) {
  auto processes = std::make_shared<Processes>(count, options, memory);
  World world;
  world.parts = processes;
  for (size_t process = 0; process < count; ++process)
    world.sessions.push_back({processes->backends[process].get(), processes->communicators[process].get()});
  return world;
}

// The ranks of a group are 1, 4, 7 ..., taking turns: with 2 and 4 processes several are in one, in others more than in the rest.
INSTANTIATE_TEST_SUITE_P(Processes, CommunicatorConformance,
                         ::testing::Values(CommunicatorCase{"one", [] { return makeProcesses(1); }},
                                           CommunicatorCase{"two", [] { return makeProcesses(2); }},
                                           CommunicatorCase{"three", [] { return makeProcesses(3); }},
                                           CommunicatorCase{"fourLate",
                                                            [] {
                                                              return makeProcesses(4, {7, 0.0003, true});
                                                            }},
                                           CommunicatorCase{"eight", [] { return makeProcesses(8); }},
                                           CommunicatorCase{"twoOffset", [] { return makeProcesses(2, {}, Memory::Offset); }},
                                           CommunicatorCase{"fourQueued",
                                                            [] {
                                                              return makeProcesses(4, {9, 0.0002, false}, Memory::Queued);
                                                            }}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace npar::testing
