// Sessions over queues with memory of a kind each: what the tests of the composed communicator begin with.
#pragma once

#include "tests/engine/comm/CommunicatorConformance.h"
#include "tests/engine/comm/process/QueueProcesses.h"

namespace npar::testing {

/// Where members' buffers are: the processor's memory; such that only its backend can follow; the same, and work goes on after the call.
enum class Memory { Processor, Offset, Queued };

struct ProcessWorld {
  explicit ProcessWorld(size_t count, QueueOptions options = {}, Memory memory = Memory::Processor);
  size_t count() const { return communicators.size(); }
  /// What body(process) returns, of all processes at once; each once.
  std::vector<std::string> told(const std::function<std::string(uint32_t)> &body) const;

  QueueProcesses queues;
  std::vector<std::unique_ptr<engine::Backend>> backends;
  std::vector<std::shared_ptr<engine::Communicator>> communicators;
};

} // namespace npar::testing
