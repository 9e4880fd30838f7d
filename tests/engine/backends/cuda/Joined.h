// Sessions on GPUs of their own, joined by the stand-in for NCCL.
#pragma once

#include "engine/backends/Backends.h"
#include "engine/comm/device/DeviceCommunicator.h"
#include "tests/engine/comm/process/QueueProcesses.h"

#include <functional>
#include <gtest/gtest.h>
#include <thread>

namespace npar::testing {

using namespace engine;

/// Threads in place of processes, each with a GPU; `devices`: how many there are for them, from the one of number `first` on.
struct Joined {
  explicit Joined(size_t count, bool required = true, size_t devices = 8, size_t first = 0) : queues(count), remarks(count) {
    for (size_t process = 0; process < count; ++process) {
      Spread spread;
      spread.process = static_cast<int64_t>(first + process % devices);
      Result<std::unique_ptr<Backend>> backend = createBackend("cuda", spread);
      EXPECT_TRUE(backend.ok()) << backend.status().message();
      backends.push_back(std::move(*backend));
      DeviceLinkOptions options;
      options.timeoutSeconds = 20, options.required = required;
      options.remark = [this, process](const std::string &why) { remarks[process] = why; };
      communicators.push_back(
          std::make_shared<DeviceCommunicator>(queues.communicator(process, *backends.back()), *backends.back(), std::move(options)));
    }
  }
  /// All leave at the same time, as processes do.
  ~Joined() {
    told([&](uint32_t process) {
      communicators[process] = nullptr;
      return "";
    });
  }
  /// Runs body(process) for all processes at once and returns the results.
  std::vector<std::string> told(const std::function<std::string(uint32_t)> &body) const {
    std::vector<std::string> all(backends.size());
    std::vector<std::thread> threads;
    for (uint32_t process = 0; process < all.size(); ++process)
      threads.emplace_back([&, process] { all[process] = body(process); });
    for (std::thread &thread : threads)
      thread.join();
    return all;
  }
  QueueProcesses queues;
  std::vector<std::string> remarks;
  std::vector<std::unique_ptr<Backend>> backends;
  std::vector<std::shared_ptr<Communicator>> communicators;
};

} // namespace npar::testing
