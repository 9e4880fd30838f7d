// Kernels that a GPU has no code for (they call the C library), run by the processor in the middle of a stream.
#pragma once

#include "engine/backends/cpu/KernelObject.h"
#include "engine/backends/cuda/KernelText.h"
#include "engine/backends/cuda/ThreadWork.h"
#include "engine/device/DeviceAddress.h"
#include "engine/program/Program_generated.h"

#include <list>

namespace npar::engine::cuda {

/// One piece of page-locked memory holds the operands of one kernel at a time: kernels of all streams come after one another. A kernel is
/// one thread's work, the driver's own.
class HostKernels {
public:
  explicit HostKernels(const CudaDevice &device) : device(device) {}
  /// Nothing may be under way.
  ~HostKernels();

  /// Takes the functions of those kernels that are for the processor, and memory for the largest. Refuses a program without code for this
  /// processor.
  Status load(const program::Program &program, const std::vector<GpuKernel> &kernels);
  /// Copies what the kernel reads, runs it, copies what it writes, all in the thread's stream.
  void start(uint32_t kernel, const GpuKernel &text, const DeviceAddress *buffers, const int64_t *context, ThreadWork &work);

private:
  struct Function {
    KernelFunction function = nullptr;
    int64_t extent = 0;
  };
  /// What the driver is given to call back with; it goes once it has run, which may be before the driver's call returns.
  struct Job {
    HostKernels *owner;
    Function function;
    std::vector<void *> buffers;
    const int64_t *context;
    std::list<Job>::iterator self;
  };
  Job *keep(Job job);
  static void run(void *job);

  const CudaDevice &device;
  std::shared_ptr<KernelObject> object;
  std::vector<Function> functions; ///< by the kernel's number
  std::mutex mutex;                ///< of the memory's turns
  uint8_t *memory = nullptr;
  Handle given = nullptr; ///< the event after which the memory is free
  bool wasUsed = false;
  std::mutex jobsMutex;
  std::list<Job> jobs;
};

} // namespace npar::engine::cuda
