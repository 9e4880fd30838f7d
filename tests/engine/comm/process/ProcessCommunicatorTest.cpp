// Ranks in several processes over a network of queues: what holds for ranks of one process holds for those of several.
#include "tests/engine/comm/process/ProcessWorld.h"
#include "tests/engine/comm/process/RandomOperations.h"

#include <cstdlib>

namespace npar::testing {
namespace {

using namespace engine;

World makeProcesses(size_t count, QueueOptions options = {}, Memory memory = Memory::Processor) {
  auto processes = std::make_shared<ProcessWorld>(count, options, memory);
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

// Operations of all kinds, types, sizes and groups, several at once and in another order on each rank, messages late and overtaking.
TEST(RandomOperationsTest, haveTheBitsOfOneProcess) {
  size_t operations = std::getenv("NPAR_LONG") ? 2000 : 12;
  uint64_t seed = 1;
  for (auto [count, world] : {std::pair<size_t, int64_t>(2, 7), {3, 8}, {4, 8}, {8, 11}, {2, 2}})
    for (Memory memory : {Memory::Processor, Memory::Queued}) {
      ProcessWorld processes(count, {seed, seed % 2 ? 0.0003 : 0, seed % 3 == 0}, memory);
      RandomOptions options{seed++, memory == Memory::Queued ? operations / 4 : operations, world, 6};
      auto told = processes.told([&](uint32_t process) {
        return whatDiffersAtRandom(*processes.communicators[process], *processes.backends[process], process, static_cast<uint32_t>(count),
                                   options);
      });
      EXPECT_EQ(told, std::vector<std::string>{""}) << count << " processes, " << world << " ranks";
    }
}

} // namespace
} // namespace npar::testing
