// Connections between processes of one job, each proved by a handshake before anything else is sent on it.
#pragma once

#include "engine/network/Addresses.h"
#include "engine/network/Handshake.h"

namespace npar::engine {

/// A point on the steady clock, with the time limit that it came from, for messages.
struct Deadline {
  explicit Deadline(double seconds) : at(steadyNow() + seconds), seconds(seconds) {}
  double left() const { return at - steadyNow(); }
  std::string text() const { return "within " + std::to_string(static_cast<int>(seconds)) + " s"; }
  double at, seconds;
};

/// Called with remarks for the user before the deadline, such as a process with another secret.
using Remark = std::function<void(const std::string &)>;

/// A process that has connected and proved itself.
struct Arrival {
  files::Descriptor socket;
  uint32_t address = 0; ///< its address as seen from here
  uint16_t port = 0;    ///< port at which it listens
};

/// Accepts connections until all processes from `first` on have proved themselves; returns them by process. A stranger is dropped: it has
/// 10 s to prove itself, and at most 256 may try at a time. It never ends the job; nor does a process with another secret, which gets a
/// message. Errors: Timeout, with the missing and the refused processes; BadInput, if proven processes have different process counts, or
/// two have one number.
Result<std::vector<Arrival>> acceptProven(int listener, const HandshakeTerms &own, uint32_t first, const Deadline &deadline,
                                          const Remark &remark);

/// Connects to a process, which may begin to listen later, and proves itself. `portFor`: the port at which this process listens, by the
/// address of its own end of the connection; called before the proof, again for each attempt. `whom`: the process in messages. BadInput:
/// one side refuses.
Result<files::Descriptor> connectProven(const std::vector<uint32_t> &addresses, uint16_t port, const HandshakeTerms &own, uint32_t peer,
                                        const std::function<Result<uint16_t>(uint32_t ownAddress)> &portFor, const std::string &whom,
                                        const Deadline &deadline);

/// Send or receive `size` bytes on a non-blocking socket.
Status sendExactly(int socket, const void *bytes, size_t size, const std::string &whom, const Deadline &deadline);
Status receiveExactly(int socket, void *bytes, size_t size, const std::string &whom, const Deadline &deadline);

} // namespace npar::engine
