// The work of one lane, or of one thread, on a GPU: its stream, memory for its copies and kernels, and recorded graphs.
#pragma once

#include "engine/backends/cuda/driver/Completions.h"

#include <map>
#include <memory>
#include <set>

namespace npar::engine::cuda {

/// Device memory that a lane's work needs in addition to the ranks' memory.
struct LaneBytes {
  uint64_t room = 0; ///< which what is started in the stream uses by turns, for scores of attention and for what matrix products work in
  uint64_t contexts = uint64_t{1} << 16; ///< for contexts of kernels and lists of pointers: all of a program's, at least
};

/// Used by one thread at a time. Errors of started work are kept until the next `whenDone`.
class ThreadWork {
public:
  /// `laneBytes` are known when something is first asked for.
  ThreadWork(const CudaDevice &device, Completions &completions, const LaneBytes &laneBytes);
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
  /// A context's numbers, or a list of pointers, in device memory, as kernels of this thread that are started now will find them; 0 where
  /// that failed.
  DevicePointer context(const int64_t *numbers, size_t count);
  void whenDone(Completion &completion);

  /// Allocates now the memory that would otherwise be allocated at its first use. A failure is noted.
  void reserve();
  /// The stream's own memory, allocated at its first use. Returns 0 and notes the error if that fails.
  DevicePointer deviceRoom();

  /// Records the work that follows as a CUDA graph instead of starting it, except for the contents of contexts.
  void beginRecording();
  /// The number of the graph.
  Result<uint32_t> endRecording();
  /// Starts the graph, with the numbers that contexts have now.
  void replay(uint32_t recording);

private:
  struct Recording {
    Handle executable = nullptr;
    std::set<const int64_t *> contexts; ///< that its kernels read
  };
  struct Copy {
    DevicePointer memory;
    std::vector<int64_t> numbers; ///< that were sent there last
  };
  void sendChanges(Copy &copy, const int64_t *numbers, Handle to);
  uint8_t *stage(uint64_t bytes, uint64_t &piece);
  void empty();
  DevicePointer takeContext(uint64_t bytes);
  bool addContextMemory(uint64_t bytes);

  const CudaDevice &device;
  Completions &completions;
  const LaneBytes &laneBytes;
  size_t queue;
  Handle stream = nullptr;
  Status failed;
  uint8_t *staging = nullptr;
  uint64_t used = 0;
  std::vector<Arrival> arrivals;
  std::map<const int64_t *, Copy> contexts;
  std::vector<DevicePointer> contextMemory;
  uint64_t contextsUsed = 0; ///< bytes of the last piece of it
  DevicePointer room = 0;
  std::unique_ptr<Recording> recording; ///< the one that is being made
  std::vector<std::unique_ptr<Recording>> recordings;
};

} // namespace npar::engine::cuda
