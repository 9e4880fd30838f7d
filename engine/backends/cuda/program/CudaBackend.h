// A GPU over CUDA's driver: the program's kernels for it, npar's own products, attention and reductions, a stream for each lane, and for
// each thread that starts work outside of lanes.
#pragma once

#include "engine/backends/cuda/nccl/NcclNetwork.h"
#include "engine/backends/cuda/program/CudaAttentions.h"
#include "engine/backends/cuda/program/CudaProducts.h"
#include "engine/backends/cuda/ptx/KernelText.h"
#include "engine/device/Backend.h"

#include <atomic>
#include <map>
#include <thread>

namespace npar::engine::cuda {

/// One device; several are CudaDevices.
class CudaBackend final : public Backend {
public:
  /// `products` and `attention`: who computes them, by their words (CudaProducts.h, CudaAttentions.h). They are a part of the name: others
  /// have other bits.
  static Result<std::unique_ptr<CudaBackend>> open(const CudaDriver &driver, int ordinal, const std::string &products,
                                                   const std::string &attention);
  std::string name() const override;
  std::vector<std::string> remarks() const override;
  bool computes() const override { return true; }
  bool asynchronous() const override { return true; }
  Status load(const program::Program &program) override;
  void enterThread() override { (void)threadWork(); }
  /// Takes their streams' memory.
  Status prepareLanes(const std::vector<size_t> &devices) override;
  void enterLane(uint32_t lane) override { entered = {number, lane == noLane ? nullptr : lanes[lane].get()}; }
  bool canRecord() const override { return true; }
  void beginRecording() override { threadWork().beginRecording(); }
  Result<uint32_t> endRecording() override { return threadWork().endRecording(); }
  void replay(uint32_t recording) override { threadWork().replay(recording); }
  Result<DeviceAddress> allocate(uint64_t bytes) override;
  Status fits(size_t device, uint64_t bytes) const override;
  void release(DeviceAddress memory, uint64_t bytes) override;
  std::string deviceName(size_t) const override { return "GPU " + std::to_string(place); }
  DeviceNetwork *network() override { return &gpus; }
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

  const CudaDevice &gpu() const { return *device; }
  /// Among the host's, as the driver counts.
  int ordinal() const { return place; }
  /// The lane's that the calling thread has entered, or else its own.
  ThreadWork &threadWork();

private:
  CudaBackend(std::unique_ptr<CudaDevice> device, int ordinal, ProductsBy by, AttentionBy attentionBy);
  Status loadReductions();
  Status loadKernels(const program::Program &program);
  uint64_t contextBytes(const program::Program &program) const;
  /// "; ... are taken by ...": the memory in use, for messages about memory that is missing.
  std::string takenBeside() const;
  Result<const program::DeviceCode *> chooseCode(const program::Program &program) const;

  std::unique_ptr<CudaDevice> device;
  const int place; ///< of the device among the host's
  const ProductsBy by;
  const AttentionBy attentionBy;
  std::atomic<uint64_t> givenBytes{0}; ///< by `allocate`
  const uint64_t number;               ///< of this backend in the process, never given again
  std::mutex mutex;                    ///< of the threads
  LaneBytes laneBytes;
  std::map<std::thread::id, std::unique_ptr<ThreadWork>> threads;
  std::vector<std::unique_ptr<ThreadWork>> lanes;
  inline static thread_local std::pair<uint64_t, ThreadWork *> entered{0, nullptr}; ///< with the backend's number
  Completions completions;                  ///< goes before the memory of threads that it delivers from
  std::map<std::string, Handle> reductions; ///< by the names of kernels
  std::vector<GpuKernel> kernels;           ///< in the program's order
  std::vector<Handle> functions;            ///< of each
  size_t contextCount = 0;                  ///< numbers in a kernel's context
  CudaProducts products;
  CudaAttentions attentions;
  NcclNetwork gpus;
};

} // namespace npar::engine::cuda
