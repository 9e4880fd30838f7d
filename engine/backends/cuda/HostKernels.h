// Kernels that a GPU has no code for (they call the C library), run by the processor in the middle of a stream.
#pragma once

#include "engine/backends/cpu/KernelObject.h"
#include "engine/backends/cuda/KernelText.h"
#include "engine/backends/cuda/ThreadWork.h"
#include "engine/device/DeviceAddress.h"
#include "engine/program/Program_generated.h"

#include <list>

namespace npar::engine::cuda {

/// A stream's page-locked memory holds the operands of one kernel at a time. A kernel is one thread's work, the driver's own.
class HostKernels {
public:
  explicit HostKernels(const CudaDevice &device) : device(device) {}
  /// Takes the functions of those kernels that are for the processor. Refuses a program without code for this processor.
  Status load(const program::Program &program, const std::vector<GpuKernel> &kernels);
  /// Copies what the kernel reads, runs it, copies what it writes, all in the thread's stream.
  void start(uint32_t kernel, const GpuKernel &text, const DeviceAddress *buffers, const int64_t *context, ThreadWork &work);

  /// Bytes of page-locked memory that the largest of them needs in each stream; 0: there are none.
  uint64_t roomBytes() const { return most; }

private:
  struct Function {
    KernelFunction function = nullptr;
    int64_t extent = 0;
  };
  /// What the driver is given to call back with; it goes once it has run, which may be before the driver's call returns, or with the
  /// recording that it is a part of.
  struct Job {
    HostKernels *owner; ///< null: a recording has it
    Function function;
    std::vector<void *> buffers;
    const int64_t *context;
    std::list<Job>::iterator self;
  };
  Job *keep(Job job, ThreadWork &work);
  static void run(void *job);

  const CudaDevice &device;
  std::shared_ptr<KernelObject> object;
  std::vector<Function> functions; ///< by the kernel's number
  uint64_t most = 0;
  std::mutex jobsMutex;
  std::list<Job> jobs;
};

} // namespace npar::engine::cuda
