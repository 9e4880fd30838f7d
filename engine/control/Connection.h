// A TCP connection of the control channel, which never blocks: messages of bounded size, each with the token of its job.
#pragma once

#include "engine/network/Descriptor.h"
#include "engine/status/Status.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace npar::engine {

/// Made anew for each job; whoever does not know it is not heard.
using ControlToken = std::array<uint8_t, 16>;

/// Random bytes of the operating system.
ControlToken makeToken();

class Connection {
public:
  Connection() = default;
  Connection(Descriptor socket, const ControlToken &token);

  bool open() const { return bool(socket); }
  int descriptor() const { return socket.get(); }
  /// Queues a message and sends what can be sent. A peer that reads nothing gets no more than `mostQueued` bytes, then only what matters.
  void send(const std::vector<uint8_t> &message, bool matters);
  bool wantsToSend() const { return !output.empty(); }
  void flush();
  /// Reads what is there and hands on every whole message; false from the handler: it is none. Empty while all is well; otherwise the
  /// connection is closed, for this reason.
  std::string receive(const std::function<bool(const uint8_t *bytes, size_t size)> &handle);
  void close();

private:
  static constexpr size_t mostQueued = 256 << 10;
  Descriptor socket;
  ControlToken token{};
  std::vector<uint8_t> input, output;
};

} // namespace npar::engine
