// What one thread starts on a GPU: its stream, page-locked memory for its copies, and contexts of kernels in device memory.
#pragma once

#include "engine/backends/cuda/Completions.h"

#include <map>

namespace npar::engine::cuda {

/// Of one thread at a time. Errors of what is started are kept until the thread asks when it is done.
class ThreadWork {
public:
  ThreadWork(const CudaDevice &device, Completions &completions);
  ~ThreadWork();
  ThreadWork(const ThreadWork &) = delete;

  /// The thread's stream, with the device as the thread's own. Null where it could not be made; that is noted.
  Handle begin();
  /// Notes that something could not be started: `what` it was, or all that there is to say.
  void note(Code code, const std::string &what);
  void note(const Status &status);

  /// By way of page-locked memory, which is made at the first copy. Blocks where that is full: not for workers that run steps.
  void copyIn(DevicePointer target, const void *source, uint64_t bytes);
  void copyOut(void *target, DevicePointer source, uint64_t bytes);
  /// The context's numbers in device memory, as kernels of this thread that are started now will find them; 0 where that failed.
  DevicePointer context(const int64_t *numbers, size_t count);
  void whenDone(Completion &completion);

private:
  struct Copy {
    DevicePointer memory;
    std::vector<int64_t> numbers; ///< that were sent there last
  };
  uint8_t *stage(uint64_t bytes, uint64_t &piece);
  void empty();
  DevicePointer takeContext(uint64_t bytes);

  const CudaDevice &device;
  Completions &completions;
  size_t queue;
  Handle stream = nullptr;
  Status failed;
  uint8_t *staging = nullptr;
  uint64_t used = 0;
  std::vector<Arrival> arrivals;
  std::map<const int64_t *, Copy> contexts;
  std::vector<DevicePointer> contextMemory;
  uint64_t contextsUsed = 0; ///< bytes of the last piece of it
};

} // namespace npar::engine::cuda
