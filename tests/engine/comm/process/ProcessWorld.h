// Sessions over queues, with one kind of memory: the fixture for tests of the composed communicator.
#pragma once

#include "tests/engine/comm/CommunicatorConformance.h"
#include "tests/engine/comm/process/QueueProcesses.h"

namespace npar::testing {

/// Kind of memory of the members' buffers: the processor's; one that only its backend can dereference; the same, with asynchronous work.
enum class Memory { Processor, Offset, Queued };

struct ProcessWorld {
  explicit ProcessWorld(size_t count, QueueOptions options = {}, Memory memory = Memory::Processor);
  size_t count() const { return communicators.size(); }
  /// The distinct results of body(process), run in all processes at once.
  std::vector<std::string> told(const std::function<std::string(uint32_t)> &body) const;

  QueueProcesses queues;
  std::vector<std::unique_ptr<engine::Backend>> backends;
  std::vector<std::shared_ptr<engine::Communicator>> communicators;
};

} // namespace npar::testing
