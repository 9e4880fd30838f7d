// Memory through which messages pass, allocated once and reused for each.
#include "engine/comm/process/Scratch.h"

#include <algorithm>
#include <cstdlib>

namespace npar::engine {

namespace {
constexpr uint64_t alignment = 64;
uint64_t rounded(uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }
} // namespace

Scratch::~Scratch() {
  if (area.bytes > 0)
    release(area);
  for (const auto &[host, piece] : extras)
    release(piece);
  for (const auto &[bytes, piece] : idle)
    release(piece);
}

Result<ScratchPiece> Scratch::allocate(uint64_t bytes) {
  Result<DeviceAddress> device = backend.allocate(bytes);
  if (!device.ok())
    return device.status();
  ScratchPiece piece{static_cast<uint8_t *>(backend.hostView(*device)), *device, bytes};
  if (!piece.host)
    piece.host = static_cast<uint8_t *>(std::aligned_alloc(alignment, rounded(bytes)));
  if (piece.host)
    return piece;
  backend.release(*device, bytes);
  return Status::runFailed("cannot allocate " + std::to_string(bytes) + " bytes for messages");
}

void Scratch::release(const ScratchPiece &piece) {
  if (!isShared(piece.device))
    std::free(piece.host);
  backend.release(piece.device, piece.bytes);
}

Status Scratch::reserve(uint64_t bytes) {
  bytes = rounded(bytes);
  if (bytes == 0 || area.bytes > 0)
    return {};
  Result<ScratchPiece> taken = allocate(bytes);
  if (!taken.ok())
    return taken.status();
  area = *taken;
  free[0] = bytes;
  return {};
}

Result<ScratchPiece> Scratch::take(uint64_t bytes) {
  bytes = rounded(std::max<uint64_t>(bytes, 1));
  inUse += bytes;
  greatest = std::max(greatest, inUse);
  for (auto place = free.begin(); place != free.end(); ++place) {
    auto [begin, length] = *place;
    if (length < bytes)
      continue;
    free.erase(place);
    if (length > bytes)
      free[begin + bytes] = length - bytes;
    return ScratchPiece{area.host + begin, area.device + begin, bytes};
  }
  return takeExtra(bytes);
}

/// Allocates in few sizes, so that later requests can reuse the memory.
Result<ScratchPiece> Scratch::takeExtra(uint64_t bytes) {
  ScratchPiece whole;
  if (auto found = idle.lower_bound(bytes); found != idle.end()) {
    whole = found->second;
    idle.erase(found);
  } else {
    uint64_t size = alignment;
    while (size < bytes)
      size *= 2;
    Result<ScratchPiece> taken = allocate(size);
    if (!taken.ok())
      return taken.status();
    whole = *taken;
  }
  extras[whole.host] = whole;
  return ScratchPiece{whole.host, whole.device, bytes};
}

void Scratch::give(ScratchPiece &piece) {
  if (piece.bytes == 0)
    return;
  inUse -= piece.bytes;
  if (auto found = extras.find(piece.host); found != extras.end()) {
    idle.emplace(found->second.bytes, found->second);
    extras.erase(found);
  } else {
    auto place = free.emplace(static_cast<uint64_t>(piece.host - area.host), piece.bytes).first;
    if (auto next = std::next(place); next != free.end() && place->first + place->second == next->first)
      place->second += next->second, free.erase(next);
    if (place != free.begin())
      if (auto before = std::prev(place); before->first + before->second == place->first)
        before->second += place->second, free.erase(place);
  }
  piece = {};
}

} // namespace npar::engine
