// A device that the processor cannot see into: the processor's backend with addresses that nobody can follow, and with work that goes on
// after the call.
#pragma once

#include "engine/device/Backend.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace npar::testing {

/// Hands out addresses that no process can have, so that whoever follows one instead of asking for a copy crashes. With `queued` one thread
/// of its own does the work in the order it is started in, and completions come from there; else all is done when a call returns.
class OffsetBackend final : public engine::Backend {
public:
  OffsetBackend(std::unique_ptr<engine::Backend> inner, bool queued);
  ~OffsetBackend() override;
  std::string name() const override { return queued ? "queued" : "offset"; }
  bool computes() const override { return inner->computes(); }
  bool asynchronous() const override { return queued; }
  engine::Status load(const program::Program &program) override { return inner->load(program); }
  void enterThread() override { inner->enterThread(); }
  void enterLane(uint32_t lane) override { entered = {this, lane}; }
  bool canRecord() const override { return queued; }
  void beginRecording() override;
  engine::Result<uint32_t> endRecording() override;
  void replay(uint32_t recording) override;
  engine::Result<engine::DeviceAddress> allocate(uint64_t bytes) override;
  void release(engine::DeviceAddress memory, uint64_t bytes) override;
  void copyIn(engine::DeviceAddress target, const void *source, uint64_t bytes) override;
  void copyOut(void *target, engine::DeviceAddress source, uint64_t bytes) override;
  void zero(engine::DeviceAddress target, uint64_t bytes) override;
  void copy(engine::DeviceAddress target, engine::DeviceAddress source, uint64_t bytes) override;
  void reduce(program::ElementType type, program::ReduceOp op, const engine::DeviceAddress *sources, size_t sourceCount,
              const engine::DeviceAddress *targets, size_t targetCount, uint64_t count) override;
  engine::Status runKernel(uint32_t kernel, const engine::DeviceAddress *buffers, size_t bufferCount, const int64_t *context,
                           uint64_t bytes) override;
  engine::Status runMatmul(uint32_t matmul, engine::DeviceAddress a, engine::DeviceAddress b, engine::DeviceAddress c) override;
  engine::Status runAttention(uint32_t attention, const engine::DeviceAddress *buffers, size_t bufferCount,
                              const int64_t *context) override;
  void whenDone(engine::Completion &completion) override;

  /// The kernel with this number among all that are run fails; set before the first one.
  int64_t lostAtKernel = -1;
  /// How often memory was given back.
  std::atomic<size_t> releases{0};

private:
  using Work = std::function<engine::Status()>;
  using Starter = std::pair<uint32_t, std::thread::id>; ///< a lane, or else a thread
  Starter starter() const;
  /// Does it now, or gives it to the thread, or keeps it with what is being recorded.
  engine::Status start(Work work);
  void run();

  std::unique_ptr<engine::Backend> inner;
  bool queued;
  std::atomic<int64_t> kernels{0}; ///< that were started
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> queue;
  bool stopping = false;
  std::map<Starter, engine::Status> failed; ///< of work since the last completion, by who started it; of the thread alone
  std::map<uint32_t, std::vector<std::vector<Work>>> recordings; ///< by lane
  std::map<uint32_t, std::vector<Work>> recording;               ///< those that are being made, likewise
  inline static thread_local std::pair<const OffsetBackend *, uint32_t> entered{nullptr, engine::noLane};
  std::thread thread;
};

} // namespace npar::testing
