// A message of any size, sent or received in pieces of bounded size.
#include "engine/comm/process/PiecedMessage.h"

#include <algorithm>

namespace npar::engine {

namespace {
constexpr size_t pieceBytes = size_t{1} << 20, piecesInFlight = 4;
} // namespace

PiecedMessage::PiecedMessage(Progress &progress, Direction direction, uint32_t peer, uint32_t tag, uint8_t *bytes, size_t size,
                             std::function<void(const Status &)> ended)
    : progress(progress), direction(direction), peer(peer), tag(tag), bytes(bytes), size(size), ended(std::move(ended)) {}

void PiecedMessage::start() {
  if (size == 0)
    return end();
  while (begun < size && inFlight < piecesInFlight)
    startNext();
}

void PiecedMessage::startNext() {
  size_t at = begun, length = std::min(pieceBytes, size - begun);
  begun += length;
  ++inFlight;
  if (direction == Send)
    progress.transport().send(peer, tag, bytes + at, length, *this);
  else
    progress.transport().receive(peer, tag, bytes + at, length, *this);
}

void PiecedMessage::messageDone(const Status &status) {
  --inFlight;
  if (failed.ok())
    failed = status;
  if (failed.ok() && begun < size)
    startNext();
  else if (inFlight == 0)
    end();
}

void PiecedMessage::end() {
  std::function<void(const Status &)> call = std::move(ended); // which may delete this object
  call(Status(failed));
}

} // namespace npar::engine
