// A non-blocking TCP connection of the control channel: messages of bounded size, each with the token of its job.
#pragma once

#include "engine/files/Descriptor.h"
#include "engine/status/Status.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace npar::engine {

/// Secret of one job. A message without it is rejected.
using ControlToken = std::array<uint8_t, 16>;

/// Random bytes of the operating system.
ControlToken makeToken();

class Connection {
public:
  Connection() = default;
  Connection(files::Descriptor socket, const ControlToken &token);

  bool open() const { return bool(socket); }
  int descriptor() const { return socket.get(); }
  /// Queues a message and sends what can be sent. If a peer does not read and `mostQueued` bytes are queued, only messages that matter are
  /// added.
  void send(const std::vector<uint8_t> &message, bool matters);
  bool wantsToSend() const { return !output.empty(); }
  void flush();
  /// Reads what is there and hands on every whole message; false from the handler: it is none. Empty while all is well; otherwise the
  /// connection is closed, for this reason.
  std::string receive(const std::function<bool(const uint8_t *bytes, size_t size)> &handle);
  void close();

private:
  static constexpr size_t mostQueued = 256 << 10;
  files::Descriptor socket;
  ControlToken token{};
  std::vector<uint8_t> input, output;
};

} // namespace npar::engine
