// The processes of a job as one of them sees them: what the driver starts with, and where sessions get their communicators.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/comm/process/FailureChannel.h"
#include "engine/comm/process/Progress.h"
#include "engine/device/Backend.h"

#include <functional>
#include <memory>
#include <vector>

namespace npar::engine {

/// Owns the process's one progress thread and the transport, which lives on it. The calls of one kind are made by all processes, equally
/// often and in the same order, by one thread at a time; they block the caller, never the progress thread.
class ProcessGroup {
public:
  /// Opens the transport on the progress thread and waits until all processes have.
  static Result<std::shared_ptr<ProcessGroup>> open(OpenTransport transport);
  virtual ~ProcessGroup() = default;
  virtual uint32_t processes() const = 0;
  virtual uint32_t process() const = 0;
  virtual std::string transportName() const = 0;
  /// The address of this host that the group goes over; 0: the transport does not say.
  virtual uint32_t address() const = 0;
  /// Every process gives some bytes and gets those of all, by process. An error when `timeoutSeconds` have passed; then the group is of no
  /// more use.
  virtual Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own, double timeoutSeconds) = 0;
  /// The bytes of process 0 at all of them, in pieces: of any size.
  virtual Result<std::vector<uint8_t>> broadcast(std::vector<uint8_t> bytes, double timeoutSeconds) = 0;
  /// The communicator of this process's next session: the n-th of each process belong together. Ranks of this process meet in memory,
  /// others by messages. `failures` outlives it: an abort goes through it and comes from it.
  virtual std::shared_ptr<Communicator> communicator(Backend &backend, FailureChannel &failures) = 0;
  /// Waits for all processes and ends the transport; nothing works afterwards. Without it destruction leaves everything as it stands.
  virtual Status leave() = 0;
};

} // namespace npar::engine
