// The engine's interface to a device: memory, copies, reductions, kernels, matrix products and attention. Clone backends/null/ to add one.
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

/// All calls are thread-safe once `load` has returned, and only `allocate`, `allocateOn` and `allocateIn` allocate memory for tensors.
///
/// The calls from `copyIn` to `runAttention` start work. If `asynchronous()` is false, the work is done when the call returns. Otherwise it
/// belongs to the lane that the thread has entered, or to the thread itself. Work of one lane or thread is executed in order, after
/// everything that was complete when it was started; work that depends on another lane or thread must wait for its completion. So a device
/// with streams can give each lane one. With several devices (`devices()`), a lane has one device, whose memory holds all operands of its
/// work. Work started outside of lanes may use the memory of all devices, and keeps its order up to the next `whenDone`.
class Backend {
public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// False if the backend does no arithmetic and its memory holds nothing (null): times are then the plan's.
  virtual bool computes() const = 0;
  /// True if work may continue after the call that starts it; then only `whenDone` reports its completion.
  virtual bool asynchronous() const = 0;

  /// Announces the lanes after `load`, before any is entered: they are numbered from 0, and each is on the device given for it. Allocates
  /// what they need.
  virtual Status prepareLanes(const std::vector<size_t> &devices) { return (void)devices, Status(); }
  /// Assigns the calling thread's later work to this lane, until it enters another one; `noLane`: to the thread itself, as at the start.
  /// Only one thread may use a lane at a time, and the next one sees everything that it has written before.
  virtual void enterLane(uint32_t lane) { (void)lane; }
  /// True if work of a lane can be recorded and started again as a whole.
  virtual bool canRecord() const { return false; }
  /// From now on, the thread's work in its lane is recorded and not executed. All of it must have run there before, because resources are
  /// allocated at the first run.
  virtual void beginRecording() {}
  /// Ends the recording of this lane and returns its number.
  virtual Result<uint32_t> endRecording() { return Status(Code::Internal, "this device records nothing"); }
  /// Starts the recording with this number in the thread's lane, on the same memory, with the current values of kernel contexts.
  virtual void replay(uint32_t recording) { (void)recording; }

  /// Takes over kernels, matrix products and attentions of a verified program: finds its own code (program::DeviceCode) and refuses what
  /// this device cannot run. Called once, before anything runs.
  virtual Status load(const program::Program &program) = 0;
  /// Remarks for the user on decisions of `load` that are not errors; a sentence each.
  virtual std::vector<std::string> remarks() const { return {}; }
  /// Must be called by every thread before it starts its first work here.
  virtual void enterThread() = 0;

  /// `bytes` of zeroed memory aligned to 64, or an error with the number. Freed by `release`.
  virtual Result<DeviceAddress> allocate(uint64_t bytes) = 0;
  /// Number of devices with memory of their own; `allocate` uses the first.
  virtual size_t devices() const { return 1; }
  /// Like `allocate`, on the given device.
  virtual Result<DeviceAddress> allocateOn(size_t device, uint64_t bytes) {
    (void)device;
    return allocate(bytes);
  }
  /// Name of a device for messages, such as "GPU 1".
  virtual std::string deviceName(size_t device) const {
    (void)device;
    return name();
  }
  virtual void release(DeviceAddress memory, uint64_t bytes) = 0;
  /// `bytes` of zeroed memory in a tier other than the device's own, for the ranks of a device: memory of the host that all work can use, or
  /// a file without a name in `folder`, which only `copy`, `copyIn`, `copyOut` and `zero` reach. An error if this backend has no such memory
  /// or there is no room. Freed by `releaseIn`.
  virtual Result<DeviceAddress> allocateIn(program::Tier tier, size_t device, uint64_t bytes, const std::string &folder);
  virtual void releaseIn(program::Tier tier, DeviceAddress memory, uint64_t bytes) { (void)tier, (void)memory, (void)bytes; }
  /// Checks that a device can allocate `bytes` in total; otherwise an error with both numbers and the memory that `load` has taken. Ok if
  /// the capacity is unknown.
  virtual Status fits(size_t device, uint64_t bytes) const {
    (void)device, (void)bytes;
    return {};
  }
  /// Address at which the processor itself may read and write this memory while no work uses it; null: only copies reach it.
  virtual void *hostView(DeviceAddress memory) const {
    (void)memory;
    return nullptr;
  }
  /// The network that can connect this device with those of other processes, valid as long as this object; null: messages pass through the
  /// processor's memory.
  virtual DeviceNetwork *network() { return nullptr; }

  /// Copies from and to the processor's memory, which must stay valid and unchanged until the work is done.
  virtual void copyIn(DeviceAddress target, const void *source, uint64_t bytes) = 0;
  virtual void copyOut(void *target, DeviceAddress source, uint64_t bytes) = 0;

  /// The first error of a copy from or to a file; ok forever without one.
  virtual Status intact() const { return {}; }

  virtual void zero(DeviceAddress target, uint64_t bytes) = 0;
  /// Copies within the device. The ranges may be identical but must not overlap otherwise.
  virtual void copy(DeviceAddress target, DeviceAddress source, uint64_t bytes) = 0;
  /// targets[i][j] = sources[0][j] op sources[1][j] op ... in this order for every i (RULES.md#N5). A target may be one of the sources. The
  /// two lists are read before the call returns.
  virtual void reduce(program::ElementType type, program::ReduceOp op, const DeviceAddress *sources, size_t sourceCount,
                      const DeviceAddress *targets, size_t targetCount, uint64_t count) = 0;

  /// Runs a whole kernel on `bufferCount` buffers. `bytes`, the amount that it moves, tells whether splitting it over workers pays.
  /// `buffers` and `context` must stay valid until the work is done.
  virtual Status runKernel(uint32_t kernel, const DeviceAddress *buffers, size_t bufferCount, const int64_t *context, uint64_t bytes) = 0;
  /// Runs a kernel on `count` consecutive lists of `bufferCount` buffers; none uses memory that another one writes.
  virtual Status runKernels(uint32_t kernel, const DeviceAddress *buffers, size_t bufferCount, size_t count, const int64_t *context,
                            uint64_t bytes) {
    Status status;
    for (size_t i = 0; i < count && status.ok(); ++i)
      status = runKernel(kernel, buffers + i * bufferCount, bufferCount, context, bytes / count);
    return status;
  }
  /// C (+)= A B for every index of the batch list.
  virtual Status runMatmul(uint32_t matmul, DeviceAddress a, DeviceAddress b, DeviceAddress c) = 0;
  /// Runs a grouped product on the step's operands: A, B, first, last, C. A backend without them refuses programs that have some.
  virtual Status runGrouped(uint32_t, const DeviceAddress *) { return Status(Code::Internal, "this backend has no grouped products"); }
  /// Runs attention or its gradient for every index of the batch list. `buffers`, the step's operands in their order, and `context`, as for
  /// a kernel, must stay valid until the work is done.
  virtual Status runAttention(uint32_t attention, const DeviceAddress *buffers, size_t bufferCount, const int64_t *context) = 0;

  /// Completes when all work started in this thread's lane is done, with its first error. Work that is started afterwards, anywhere, sees
  /// the results.
  virtual void whenDone(Completion &completion) = 0;
};

/// Waits until the work that this thread has started is done. Not for workers that run steps: these must not block.
Status waitUntilDone(Backend &backend);

/// Settings by which a backend spreads one step over the workers, and ranks over devices.
struct Spread {
  int threads = 1;
  bool splitSteps = false; ///< pays only with few ranks per worker
  int64_t process = 0;     ///< number among this host's `processes`, which take its devices in turn, `devices` each
  int64_t processes = 1;
  int64_t devices = 1; ///< 0: an equal share of the host's, at least one, and at most `ranks`
  int64_t ranks = 1;   ///< ranks of this process; a request for more devices than ranks is refused
};

} // namespace npar::engine
