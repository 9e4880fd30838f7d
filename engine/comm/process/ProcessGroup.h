// The processes of a job, seen from one of them: made by the driver at the start, and the source of communicators for sessions.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/comm/process/FailureChannel.h"
#include "engine/comm/process/Progress.h"
#include "engine/device/Backend.h"

#include <functional>
#include <memory>
#include <vector>

namespace npar::engine {

/// Owns the process's one progress thread and the transport that runs on it. All processes make the calls of one kind the same number of
/// times and in the same order, from one thread at a time; calls block the caller, never the progress thread.
class ProcessGroup {
public:
  /// Opens the transport on the progress thread and waits until all processes have.
  static Result<std::shared_ptr<ProcessGroup>> open(OpenTransport transport);
  virtual ~ProcessGroup() = default;
  virtual uint32_t processes() const = 0;
  virtual uint32_t process() const = 0;
  virtual std::string transportName() const = 0;
  /// The address of this host in the group; 0 if the transport does not tell.
  virtual uint32_t address() const = 0;
  /// Gives every process the contributions of all, by process. Returns an error when `timeoutSeconds` have passed, after which the group is
  /// unusable.
  virtual Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own, double timeoutSeconds) = 0;
  /// Sends the bytes of process 0 to all processes, in pieces and of any size.
  virtual Result<std::vector<uint8_t>> broadcast(std::vector<uint8_t> bytes, double timeoutSeconds) = 0;
  /// Ends all present and later waits of this process, in gathers and broadcasts, with this error; the first error counts. Thread-safe.
  virtual void abort(const Status &status) = 0;
  /// The communicator of this process's next session; the n-th sessions of all processes belong together. Ranks of this process meet in
  /// memory, others by messages. `failures` must outlive it: it sends and receives aborts.
  virtual std::shared_ptr<Communicator> communicator(Backend &backend, FailureChannel &failures) = 0;
  /// Waits for all processes and ends the transport; no call works afterwards. Without it the destructor abandons the transport in its
  /// current state.
  virtual Status leave() = 0;
};

} // namespace npar::engine
