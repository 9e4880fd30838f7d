// Several GPUs of one process as one backend: work goes to the GPU whose memory its operands are in, copies and reductions reach all.
#pragma once

#include "engine/backends/cuda/program/DeviceSums.h"

#include <optional>

namespace npar::engine::cuda {

/// Each GPU is a CudaBackend with lanes, streams, kernels, contexts and workspaces of its own. What is started in a lane is its GPU's. Of
/// what a thread starts outside of lanes a table of what was allocated says whose an operand is, for addresses are unique in a process; it
/// is the process's, for sessions may share arenas.
class CudaDevices final : public Backend {
public:
  /// Of one architecture. `remarks`: how they were chosen.
  static Result<std::unique_ptr<Backend>> open(DeviceOrder::Gpus gpus, std::vector<std::string> remarks);
  ~CudaDevices() override;
  std::string name() const override { return gpus[0]->name(); }
  bool computes() const override { return true; }
  bool asynchronous() const override { return true; }
  Status load(const program::Program &program) override;
  std::vector<std::string> remarks() const override;
  void enterThread() override;
  Status prepareLanes(const std::vector<size_t> &devices) override;
  void enterLane(uint32_t lane) override;
  bool canRecord() const override { return true; }
  void beginRecording() override { inLane()->beginRecording(); }
  Result<uint32_t> endRecording() override { return inLane()->endRecording(); }
  void replay(uint32_t recording) override { inLane()->replay(recording); }
  Result<DeviceAddress> allocate(uint64_t bytes) override { return allocateOn(0, bytes); }
  size_t devices() const override { return gpus.size(); }
  Result<DeviceAddress> allocateOn(size_t device, uint64_t bytes) override;
  Status fits(size_t device, uint64_t bytes) const override { return gpus[device]->fits(0, bytes); }
  std::string deviceName(size_t device) const override { return gpus[device]->deviceName(0); }
  void release(DeviceAddress memory, uint64_t bytes) override;
  /// One that says why these cannot be joined with those of other processes.
  DeviceNetwork *network() override { return gpus.size() == 1 ? gpus[0]->network() : unjoined.get(); }
  void copyIn(DeviceAddress target, const void *source, uint64_t bytes) override;
  void copyOut(void *target, DeviceAddress source, uint64_t bytes) override;
  void zero(DeviceAddress target, uint64_t bytes) override;
  void copy(DeviceAddress target, DeviceAddress source, uint64_t bytes) override;
  void reduce(program::ElementType type, program::ReduceOp op, const DeviceAddress *sources, size_t sourceCount,
              const DeviceAddress *targets, size_t targetCount, uint64_t count) override;
  Status runKernel(uint32_t kernel, const DeviceAddress *buffers, size_t bufferCount, const int64_t *context, uint64_t bytes) override;
  Status runKernels(uint32_t kernel, const DeviceAddress *buffers, size_t bufferCount, size_t count, const int64_t *context,
                    uint64_t bytes) override;
  Status runMatmul(uint32_t matmul, DeviceAddress a, DeviceAddress b, DeviceAddress c) override;
  Status runGrouped(uint32_t matmul, const DeviceAddress *buffers) override;
  Status runAttention(uint32_t attention, const DeviceAddress *buffers, size_t bufferCount, const int64_t *context) override;
  void whenDone(Completion &completion) override;

private:
  struct Lane {
    size_t device;
    uint32_t number; ///< there
  };
  CudaDevices(DeviceOrder::Gpus gpus, std::vector<std::string> remarks);
  /// The GPU of the lane that the calling thread has entered; null: it has entered none.
  CudaBackend *inLane() const { return entered.first == number ? entered.second : nullptr; }
  /// The GPU that an address belongs to. Notes an error if it belongs to none.
  std::optional<size_t> deviceOf(DeviceAddress address);
  /// The GPU that has a step's operands, which continues the thread's work.
  Result<CudaBackend *> goOnWith(DeviceAddress operand);
  /// The calling thread's.
  DeviceOrder &order();

  const uint64_t number; ///< of this backend in the process, never given again
  DeviceOrder::Gpus gpus;
  const std::vector<std::string> said;
  std::unique_ptr<DeviceNetwork> unjoined;
  std::vector<Lane> lanes;
  inline static thread_local std::pair<uint64_t, CudaBackend *> entered{0, nullptr}; ///< with this backend's number
  std::mutex mutex;                                                                  ///< of the threads
  std::map<std::thread::id, std::unique_ptr<DeviceOrder>> orders;
  DeviceSums sums;
};

} // namespace npar::engine::cuda
