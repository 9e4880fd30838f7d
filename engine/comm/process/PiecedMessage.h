// A message of any size, sent or received in pieces of bounded size.
#pragma once

#include "engine/comm/process/Progress.h"

namespace npar::engine {

/// Of the progress thread. Both sides cut alike, by the size alone.
class PiecedMessage final : public MessageDone {
public:
  enum Direction { Send, Receive };
  /// `ended` is called once, within `start` or later, and may delete this object; not called when the transport halts.
  PiecedMessage(Progress &progress, Direction direction, uint32_t peer, uint32_t tag, uint8_t *bytes, size_t size,
                std::function<void(const Status &)> ended);
  void start();
  void messageDone(const Status &status) override;

private:
  void startNext();
  void end();

  Progress &progress;
  Direction direction;
  uint32_t peer, tag;
  uint8_t *bytes;
  size_t size, begun = 0, inFlight = 0;
  Status failed;
  std::function<void(const Status &)> ended;
};

} // namespace npar::engine
