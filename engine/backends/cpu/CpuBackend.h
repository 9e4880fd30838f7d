// The CPU backend: generated kernels from the program, matrix products from engine/product, attention from engine/attention, and aligned
// memory.
#pragma once

#include "engine/backends/cpu/Attentions.h"
#include "engine/backends/cpu/FileMemory.h"
#include "engine/backends/cpu/KernelObject.h"
#include "engine/backends/cpu/Products.h"
#include "engine/device/Backend.h"

namespace npar::engine {

class CpuBackend final : public Backend {
public:
  /// `order` of products of bf16 is not Fastest.
  explicit CpuBackend(const Spread &spread, program::ProductOrder order = program::ProductOrder::Portable) : spread(spread), order(order) {}
  /// Same as the function in Backends.h, for this backend.
  static uint64_t bytesPerWorker(const program::Program &program, const Spread &spread);
  std::string name() const override { return "cpu"; }
  bool computes() const override { return true; }
  bool asynchronous() const override { return false; }
  Status load(const program::Program &program) override;
  void enterThread() override {}
  Result<DeviceAddress> allocate(uint64_t bytes) override;
  void release(DeviceAddress memory, uint64_t bytes) override;
  Result<DeviceAddress> allocateIn(program::Tier tier, size_t device, uint64_t bytes, const std::string &folder) override;
  void releaseIn(program::Tier tier, DeviceAddress memory, uint64_t bytes) override;
  void *hostView(DeviceAddress memory) const override { return inFiles.holds(memory) ? nullptr : memory.devicePointer(); }
  void copyIn(DeviceAddress target, const void *source, uint64_t bytes) override;
  void copyOut(void *target, DeviceAddress source, uint64_t bytes) override;
  Status intact() const override { return inFiles.intact(); }
  void zero(DeviceAddress target, uint64_t bytes) override;
  void copy(DeviceAddress target, DeviceAddress source, uint64_t bytes) override;
  void reduce(program::ElementType type, program::ReduceOp op, const DeviceAddress *sources, size_t sourceCount,
              const DeviceAddress *targets, size_t targetCount, uint64_t count) override;
  Status runKernel(uint32_t kernel, const DeviceAddress *buffers, size_t bufferCount, const int64_t *context, uint64_t bytes) override;
  Status runMatmul(uint32_t matmul, DeviceAddress a, DeviceAddress b, DeviceAddress c) override;
  Status runGrouped(uint32_t matmul, const DeviceAddress *buffers) override;
  Status runAttention(uint32_t attention, const DeviceAddress *buffers, size_t bufferCount, const int64_t *context) override;
  void whenDone(Completion &completion) override { completion.completed({}); }

private:
  struct Kernel {
    KernelFunction function = nullptr;
    int64_t extent = 0;
    double flops = 0;
  };
  Status loadKernels(const program::Program &program);

  Spread spread;
  program::ProductOrder order;
  std::shared_ptr<KernelObject> object;
  std::vector<Kernel> kernels;
  FileMemory inFiles;
  Products products;
  Attentions attentions;
  std::unique_ptr<WorkerScratch> scratch; ///< memory for the products and attentions of the program
};

/// The order of products of bf16 that this processor computes fastest, with the instructions that NPAR_INSTRUCTIONS allows; BadInput if
/// that is no set.
Result<program::ProductOrder> fastestOrder();

/// Refuses a program that was generated for another architecture or for features that this processor lacks.
Status checkTargetFeatures(const std::string &target);

} // namespace npar::engine
