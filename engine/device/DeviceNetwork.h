// Messages from device to device, as a library of the devices' maker moves them (NCCL), without a way over the processor's memory.
#pragma once

#include "engine/device/DeviceAddress.h"
#include "engine/program/Enums_generated.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace npar::engine {

struct DeviceMessage {
  bool sends = false;
  DeviceAddress memory; ///< of this device, read or written
  uint64_t bytes = 0;
  uint32_t peer = 0; ///< the process at the other end
};

/// What the library does for all processes of a group at once, each with one piece of `count` elements: an all_reduce of it, an all_gather
/// of pieces (each process's at its place in the group), or a reduce_scatter to pieces. Sums have the library's own order, and the same
/// bits in all processes; those of 16-bit floats may be rounded after each addition.
struct DeviceCollective {
  program::CollectiveKind kind = program::CollectiveKind::AllReduce;
  program::ElementType type = program::ElementType::F32;
  DeviceAddress input, output; ///< of this device; of an all_reduce they may be the same
  uint64_t count = 0;
};

/// A process's end of the messages of a job. Of one thread: what it starts happens behind what the thread has started on the device before,
/// and before what it starts there afterwards (Backend).
class DeviceMessages {
public:
  virtual ~DeviceMessages() = default;
  /// Starts messages that move together: none waits for another. The n-th that a process sends to another one is the n-th which that one
  /// receives from it, and of the same size. Messages of later calls wait for these.
  virtual Status exchange(const std::vector<DeviceMessage> &messages) = 0;
  /// Makes the groups that collectives are of: of each its processes, ascending. All processes of the job say the same, once, before they
  /// start anything.
  virtual Status makeGroups(const std::vector<std::vector<uint32_t>> &groups) = 0;
  /// Starts collectives of the group of that number, which this process is in. All of its processes start the same ones in the same order,
  /// also against messages and other groups.
  virtual Status collect(size_t group, const std::vector<DeviceCollective> &collectives) = 0;
  /// The error that the library has come to since.
  virtual Status health() = 0;
  /// Ends what is under way, whatever memory holds then, and returns when nothing refers to it any more. Nothing may be started afterwards.
  virtual void abort() = 0;
};

/// What a device offers to connect it with those of other processes.
class DeviceNetwork {
public:
  virtual ~DeviceNetwork() = default;
  /// The library and its version, "NCCL 2.28.9": the same in all processes.
  virtual Result<std::string> name() = 0;
  /// Tells the device from every other one anywhere.
  virtual Result<std::string> device() = 0;
  /// What one process makes, and all join with.
  virtual Result<std::vector<uint8_t>> newJob() = 0;
  /// Waits for all processes of the job, from the thread that the messages are of; `goOn` is asked all the time, and ends that with an
  /// error.
  virtual Result<std::unique_ptr<DeviceMessages>> join(const std::vector<uint8_t> &job, uint32_t processes, uint32_t process,
                                                       const std::function<Status()> &goOn) = 0;
};

} // namespace npar::engine
