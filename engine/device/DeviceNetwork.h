// Messages from device to device, moved by the device vendor's library (NCCL) without the processor's memory.
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
  DeviceAddress memory; ///< on this device, read or written
  uint64_t bytes = 0;
  uint32_t peer = 0; ///< the process at the other end
};

/// A collective that the library executes for all processes of a group at once, each with one piece of `count` elements: an all_reduce of
/// it, an all_gather of pieces (each process's at its place in the group), or a reduce_scatter to pieces. Sums have the library's own
/// order, and the same bits in all processes; sums of 16-bit floats may be rounded after each addition.
struct DeviceCollective {
  program::CollectiveKind kind = program::CollectiveKind::AllReduce;
  program::ElementType type = program::ElementType::F32;
  DeviceAddress input, output; ///< on this device; for an all_reduce they may be the same
  uint64_t count = 0;
};

/// A process's end of the messages of a job. For one thread: its operations are ordered after all work that the thread started on the
/// device before, and before all that it starts afterwards (Backend).
class DeviceMessages {
public:
  virtual ~DeviceMessages() = default;
  /// Starts messages that progress together: none waits for another. The n-th message that a process sends to another one is the n-th that
  /// the other receives from it, and has the same size. Messages of later calls wait for these.
  virtual Status exchange(const std::vector<DeviceMessage> &messages) = 0;
  /// Makes the groups for collectives, each given by its processes, ascending. All processes of the job must make the same call, once,
  /// before they start anything.
  virtual Status makeGroups(const std::vector<std::vector<uint32_t>> &groups) = 0;
  /// Starts collectives of the group with that number, to which this process belongs. All of its processes must start the same ones in the
  /// same order, also relative to messages and other groups.
  virtual Status collect(size_t group, const std::vector<DeviceCollective> &collectives) = 0;
  /// The error that has occurred in the library, if any.
  virtual Status health() = 0;
  /// Ends all operations, leaving memory contents undefined, and returns when nothing refers to the memory any more. Nothing may be started
  /// afterwards.
  virtual void abort() = 0;
};

/// A device's ability to connect with those of other processes.
class DeviceNetwork {
public:
  virtual ~DeviceNetwork() = default;
  /// The library and its version, "NCCL 2.28.9": the same in all processes.
  virtual Result<std::string> name() = 0;
  /// A name that identifies the device uniquely among all devices anywhere.
  virtual Result<std::string> device() = 0;
  /// Makes the data with which all processes of one job join; called by one process.
  virtual Result<std::vector<uint8_t>> newJob() = 0;
  /// Waits for all processes of the job, on the thread that will use the messages. Calls `goOn` repeatedly, and ends with its error if it
  /// returns one.
  virtual Result<std::unique_ptr<DeviceMessages>> join(const std::vector<uint8_t> &job, uint32_t processes, uint32_t process,
                                                       const std::function<Status()> &goOn) = 0;
};

} // namespace npar::engine
