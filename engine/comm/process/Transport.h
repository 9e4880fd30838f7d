// Messages of bytes between the processes of a job: the minimal interface to a message-passing library.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace npar::engine {

/// Notified when the buffer of a message is free again: for a send when the bytes have been taken over, for a receive when they have
/// arrived.
class MessageDone {
public:
  virtual ~MessageDone() = default;
  /// Called from within `Transport::progress`; may start other messages.
  virtual void messageDone(const Status &status) = 0;
};

/// Processes are numbered from 0. All calls come from the thread that opened the transport, the progress thread of a process, so a library
/// need not be thread-safe. Messages of one sender with one tag arrive in the order in which they were sent; a receive has the size of the
/// send that it matches. tests/engine/comm/process/TransportConformance.h has the conformance tests that every implementation passes.
class Transport {
public:
  virtual ~Transport() = default;
  /// The library and its version, such as "MPICH 4.0.2": the same in all processes of a job.
  virtual std::string name() const = 0;
  virtual uint32_t processes() const = 0;
  virtual uint32_t process() const = 0;
  /// The IPv4 address of this host over which the others reach this process, in network byte order; 0 if the library does not tell.
  virtual uint32_t address() const { return 0; }
  /// Tags are from 0 to this.
  virtual uint32_t greatestTag() const = 0;
  /// Start a message; never block. The buffer and `done` must stay valid until `done` is notified.
  virtual void send(uint32_t to, uint32_t tag, const void *bytes, size_t size, MessageDone &done) = 0;
  virtual void receive(uint32_t from, uint32_t tag, void *bytes, size_t size, MessageDone &done) = 0;
  /// Moves what can be moved and notifies finished messages; true if there were any. Never waits.
  virtual bool progress() = 0;
  /// Leaves the job together with all other processes; waits for them. Without this call the library is abandoned in its current state,
  /// which is right after a failure: its own shutdown would wait for processes that no longer exist.
  virtual Status leave() = 0;
};

} // namespace npar::engine
