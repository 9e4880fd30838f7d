// A message of any size, sent or received in pieces of bounded size.
#pragma once

#include "engine/comm/process/Progress.h"

#include <vector>

namespace npar::engine {

/// A message for the progress thread. Both sides cut it the same way, by the size alone.
class PiecedMessage final : public MessageDone {
public:
  enum Direction { Send, Receive };
  /// `ended` is called once, within `start` or later, and may delete this object; not called when the transport halts.
  PiecedMessage(Progress &progress, Direction direction, uint32_t peer, uint32_t tag, uint8_t *bytes, size_t size,
                std::function<void(const Status &)> ended);
  /// Receives a message of a size that another process has announced. `into` grows as its bytes arrive, to at most twice the arrived bytes
  /// plus 4 MiB.
  PiecedMessage(Progress &progress, uint32_t peer, uint32_t tag, std::vector<uint8_t> &into, size_t size,
                std::function<void(const Status &)> ended);
  void start();
  void messageDone(const Status &status) override;

private:
  void startNext();
  /// Makes room for the next bytes; only while nothing is in flight.
  void grow();
  void end();

  Progress &progress;
  Direction direction;
  uint32_t peer, tag;
  uint8_t *bytes;
  std::vector<uint8_t> *into = nullptr;       ///< vector that contains `bytes`, if it grows
  size_t size, room, begun = 0, inFlight = 0; ///< room: bytes that are allocated
  Status failed;
  std::function<void(const Status &)> ended;
};

} // namespace npar::engine
