// A message of any size, sent or received in pieces of bounded size.
#include "engine/comm/process/PiecedMessage.h"

#include <algorithm>

namespace npar::engine {

namespace {
constexpr size_t pieceBytes = size_t{1} << 20, piecesInFlight = 4;
} // namespace

PiecedMessage::PiecedMessage(Progress &progress, Direction direction, uint32_t peer, uint32_t tag, uint8_t *bytes, size_t size,
                             std::function<void(const Status &)> ended)
    : progress(progress), direction(direction), peer(peer), tag(tag), bytes(bytes), size(size), room(size), ended(std::move(ended)) {}

PiecedMessage::PiecedMessage(Progress &progress, uint32_t peer, uint32_t tag, std::vector<uint8_t> &into, size_t size,
                             std::function<void(const Status &)> ended)
    : progress(progress), direction(Receive), peer(peer), tag(tag), bytes(nullptr), into(&into), size(size), room(0),
      ended(std::move(ended)) {}

void PiecedMessage::grow() {
  room = std::min(size, room + std::max(room, pieceBytes * piecesInFlight));
  into->resize(room);
  bytes = into->data();
}

void PiecedMessage::start() {
  if (size == 0)
    return end();
  if (into)
    grow();
  while (begun < room && inFlight < piecesInFlight)
    startNext();
}

void PiecedMessage::startNext() {
  size_t at = begun, length = std::min(pieceBytes, room - begun);
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
  if (failed.ok() && begun < room)
    startNext();
  else if (inFlight > 0)
    return;
  else if (failed.ok() && begun < size)
    start();
  else
    end();
}

void PiecedMessage::end() {
  std::function<void(const Status &)> call = std::move(ended); // which may delete this object
  call(Status(failed));
}

} // namespace npar::engine
