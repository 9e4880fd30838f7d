// A device whose memory the processor cannot access: the CPU backend with invalid addresses, and optionally with asynchronous work.
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

/// Returns addresses that no process can have, so code that dereferences one instead of copying crashes. With `queued` one thread of its
/// own does the work in the order in which it is started, and calls the completions; otherwise work is done when a call returns.
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
  engine::Status runGrouped(uint32_t matmul, const engine::DeviceAddress *buffers) override;
  engine::Status runAttention(uint32_t attention, const engine::DeviceAddress *buffers, size_t bufferCount,
                              const int64_t *context) override;
  void whenDone(engine::Completion &completion) override;

  /// Number of the kernel run that fails, among all runs; set it before the first one.
  int64_t lostAtKernel = -1;
  /// Number of memory releases.
  std::atomic<size_t> releases{0};

private:
  using Work = std::function<engine::Status()>;
  using Starter = std::pair<uint32_t, std::thread::id>; ///< a lane, or a thread outside of lanes
  Starter starter() const;
  /// Does the work now, queues it for the thread, or adds it to the current recording.
  engine::Status start(Work work);
  void run();

  std::unique_ptr<engine::Backend> inner;
  bool queued;
  std::atomic<int64_t> kernels{0}; ///< number of kernels started
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> queue;
  bool stopping = false;
  std::map<Starter, engine::Status> failed; ///< by starter: errors of work since the last completion; for the thread only
  std::map<uint32_t, std::vector<std::vector<Work>>> recordings; ///< by lane
  std::map<uint32_t, std::vector<Work>> recording;               ///< unfinished recordings, by lane
  inline static thread_local std::pair<const OffsetBackend *, uint32_t> entered{nullptr, engine::noLane};
  std::thread thread;
};

} // namespace npar::testing
