// Sessions over queues with memory of a kind each: what the tests of the composed communicator begin with.
#include "tests/engine/comm/process/ProcessWorld.h"

#include "engine/backends/cpu/CpuBackend.h"
#include "tests/engine/device/OffsetBackend.h"

#include <set>

namespace npar::testing {

using namespace engine;

ProcessWorld::ProcessWorld(size_t count, QueueOptions options, Memory memory) : queues(count, options) {
  for (size_t process = 0; process < count; ++process) {
    auto cpu = std::make_unique<CpuBackend>(Spread{1, false});
    if (memory == Memory::Processor)
      backends.push_back(std::move(cpu));
    else
      backends.push_back(std::make_unique<OffsetBackend>(std::move(cpu), memory == Memory::Queued));
    communicators.push_back(queues.communicator(process, *backends.back()));
  }
}

std::vector<std::string> ProcessWorld::told(const std::function<std::string(uint32_t)> &body) const {
  std::vector<std::string> all(count());
  std::vector<std::thread> threads;
  for (uint32_t process = 0; process < count(); ++process)
    threads.emplace_back([&, process] {
      backends[process]->enterThread();
      all[process] = body(process);
    });
  for (std::thread &thread : threads)
    thread.join();
  std::set<std::string> once(all.begin(), all.end());
  return {once.begin(), once.end()};
}

} // namespace npar::testing
