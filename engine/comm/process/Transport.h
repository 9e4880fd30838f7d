// Messages of bytes between the processes of a job: what a message-passing library has to give, and nothing else.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace npar::engine {

/// Told when the buffer of a message is free again: a send's when the bytes have been taken over, a receive's when they have arrived.
class MessageDone {
public:
  virtual ~MessageDone() = default;
  /// From within `Transport::progress`; may start other messages.
  virtual void messageDone(const Status &status) = 0;
};

/// Processes are numbered from 0. All calls come from the thread that opened the transport, the progress thread of a process, so a library
/// need not be thread-safe. Messages of one sender with one tag arrive in the order they were sent in; a receive has the size of the send
/// that it matches. tests/engine/comm/TransportConformance.h says what holds for each.
class Transport {
public:
  virtual ~Transport() = default;
  /// The library and its version, such as "MPICH 4.0.2": the same in all processes of a job.
  virtual std::string name() const = 0;
  virtual uint32_t processes() const = 0;
  virtual uint32_t process() const = 0;
  /// The IPv4 address of this host over which the others reach this process, in network byte order; 0: the library does not say.
  virtual uint32_t address() const { return 0; }
  /// Tags are from 0 to this.
  virtual uint32_t greatestTag() const = 0;
  /// Start a message; never block. The buffer and `done` must stay valid until `done` is told.
  virtual void send(uint32_t to, uint32_t tag, const void *bytes, size_t size, MessageDone &done) = 0;
  virtual void receive(uint32_t from, uint32_t tag, void *bytes, size_t size, MessageDone &done) = 0;
  /// Moves what can be moved and tells what is done; true when anything was. Never waits.
  virtual bool progress() = 0;
  /// Leaves the job together with all other processes; waits for them. Without this call the library is left as it stands, which is right
  /// after a failure: its own farewell would wait for those that are gone.
  virtual Status leave() = 0;
};

} // namespace npar::engine
