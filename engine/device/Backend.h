// What the engine needs from a device: memory, copies, reductions, kernels, matrix products and attention. Clone backends/null/ to add one.
#pragma once

#include "engine/device/Completion.h"
#include "engine/device/DeviceAddress.h"
#include "engine/device/DeviceNetwork.h"
#include "engine/program/Program_generated.h"
#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace npar::engine {

constexpr uint32_t noLane = ~uint32_t{0};

/// All calls are thread-safe once `load` has returned, and none of them allocates memory for tensors but `allocate`.
///
/// Those from `copyIn` to `runAttention` start work. Where `asynchronous()` is false it is done when the call returns. Else it is of the
/// lane that the thread has entered, or of the thread itself: what is started in one of these happens in this order, and after all that was
/// complete before; whatever depends on work of another one waits for its completion. A device with streams can so give each lane one. Of
/// several devices (`devices()`) a lane has one, whose memory all operands of its work are in; what a thread starts outside of lanes may
/// reach memory of them all, and keeps its order up to the next `whenDone`.
class Backend {
public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// False when no arithmetic happens and memory holds nothing (null): time is then the plan's.
  virtual bool computes() const = 0;
  /// Whether work may go on after the call that starts it: then only `whenDone` says when it is done.
  virtual bool asynchronous() const = 0;

  /// After `load`, before any lane is entered: these will be, numbered from 0, each of the device that is given for it. Takes what they
  /// need.
  virtual Status prepareLanes(const std::vector<size_t> &devices) { return (void)devices, Status(); }
  /// What the calling thread starts from now on is of this lane, until it enters another one; `noLane`: of the thread itself, as in the
  /// beginning. A lane is one thread's at a time, and what that has written before is seen by the next.
  virtual void enterLane(uint32_t lane) { (void)lane; }
  /// Whether work of a lane can be kept, to be started again as a whole.
  virtual bool canRecord() const { return false; }
  /// What the thread starts from now on in its lane is kept and not done. Nothing of it may be started there for the first time: what work
  /// needs to be started is taken then.
  virtual void beginRecording() {}
  /// The number of what was kept in this lane.
  virtual Result<uint32_t> endRecording() { return Status(Code::Internal, "this device records nothing"); }
  /// Starts what was kept with this number in the thread's lane, on the same memory, with the numbers that contexts of kernels have now.
  virtual void replay(uint32_t recording) { (void)recording; }

  /// Takes over kernels, matrix products and attentions of a verified program: finds its own code (program::DeviceCode) and refuses what
  /// this device cannot run. Called once, before anything runs.
  virtual Status load(const program::Program &program) = 0;
  /// What a person should know of what `load` decided, though nothing is wrong; a sentence each.
  virtual std::vector<std::string> remarks() const { return {}; }
  /// Called by every thread before it starts its first work here.
  virtual void enterThread() = 0;

  /// `bytes` of zeroed memory aligned to 64, or an error with the number. Freed by `release`.
  virtual Result<DeviceAddress> allocate(uint64_t bytes) = 0;
  /// How many devices with memory of their own this is; `allocate` is on the first.
  virtual size_t devices() const { return 1; }
  /// As `allocate`, on one of them.
  virtual Result<DeviceAddress> allocateOn(size_t device, uint64_t bytes) {
    (void)device;
    return allocate(bytes);
  }
  /// "GPU 1", for a person who is told what is where.
  virtual std::string deviceName(size_t device) const {
    (void)device;
    return name();
  }
  virtual void release(DeviceAddress memory, uint64_t bytes) = 0;
  /// Whether so many bytes can be allocated on a device in all, or an error with both numbers and what `load` has taken; good where nobody
  /// knows.
  virtual Status fits(size_t device, uint64_t bytes) const {
    (void)device, (void)bytes;
    return {};
  }
  /// Where the processor itself may read and write this memory while no work is under way on it; null: only copies reach it.
  virtual void *hostView(DeviceAddress memory) const {
    (void)memory;
    return nullptr;
  }
  /// What could connect this device with those of other processes, as long as this lives; null: messages go by the processor's memory.
  virtual DeviceNetwork *network() { return nullptr; }

  /// From and to the processor's memory, which stays valid and unchanged until the work is done.
  virtual void copyIn(DeviceAddress target, const void *source, uint64_t bytes) = 0;
  virtual void copyOut(void *target, DeviceAddress source, uint64_t bytes) = 0;

  virtual void zero(DeviceAddress target, uint64_t bytes) = 0;
  /// The ranges may be the same, not otherwise overlap.
  virtual void copy(DeviceAddress target, DeviceAddress source, uint64_t bytes) = 0;
  /// targets[i][j] = sources[0][j] op sources[1][j] op ... in this order for every i (RULES.md#N5). A target may be one of the sources. The
  /// two lists are read before the call returns.
  virtual void reduce(program::ElementType type, program::ReduceOp op, const DeviceAddress *sources, size_t sourceCount,
                      const DeviceAddress *targets, size_t targetCount, uint64_t count) = 0;

  /// Runs a whole kernel on `bufferCount` buffers; `bytes` moved by it tell whether splitting it over workers pays. `buffers` and `context`
  /// stay valid until the work is done.
  virtual Status runKernel(uint32_t kernel, const DeviceAddress *buffers, size_t bufferCount, const int64_t *context, uint64_t bytes) = 0;
  /// Runs a kernel on `count` lists of `bufferCount` buffers, which stand one after the other; none has memory that another one writes.
  virtual Status runKernels(uint32_t kernel, const DeviceAddress *buffers, size_t bufferCount, size_t count, const int64_t *context,
                            uint64_t bytes) {
    Status status;
    for (size_t i = 0; i < count && status.ok(); ++i)
      status = runKernel(kernel, buffers + i * bufferCount, bufferCount, context, bytes / count);
    return status;
  }
  /// C (+)= A B for every index of the batch list.
  virtual Status runMatmul(uint32_t matmul, DeviceAddress a, DeviceAddress b, DeviceAddress c) = 0;
  /// Attention or its gradient for every index of the batch list. `buffers`, the step's operands in their order, and `context`, which is
  /// that of a kernel, stay valid until the work is done.
  virtual Status runAttention(uint32_t attention, const DeviceAddress *buffers, size_t bufferCount, const int64_t *context) = 0;

  /// Completes when all that was started in this thread's lane is done, with the first error of it: work that is started afterwards,
  /// anywhere, sees the results.
  virtual void whenDone(Completion &completion) = 0;
};

/// Waits until what this thread has started is done. Not for workers that run steps: these must not block.
Status waitUntilDone(Backend &backend);

/// How a backend may spread one step over the workers, and ranks over devices.
struct Spread {
  int threads = 1;
  bool splitSteps = false; ///< pays only where there are few ranks per worker
  int64_t process = 0;     ///< of this host's `processes`: they have its devices in turn, `devices` each
  int64_t processes = 1;
  int64_t devices = 1; ///< 0: an equal share of the host's, at least one, and no more than there are `ranks`
  int64_t ranks = 1;   ///< of this process; what more devices than these would do is refused
};

} // namespace npar::engine
