// Memory that messages pass through on their way, taken once and used again for each.
#pragma once

#include "engine/device/Backend.h"

#include <map>
#include <vector>

namespace npar::engine {

/// Seen by the processor at `host` and by the device at `device`: the same bytes where the processor can look into the device's memory,
/// else two places between which somebody copies.
struct ScratchPiece {
  uint8_t *host = nullptr;
  DeviceAddress device;
  uint64_t bytes = 0; ///< 0: none
};

/// Of one thread, and its backend's. One area is taken at the start; what does not fit in comes from the backend, so that nobody waits for
/// anybody's memory (who waits for memory while another waits for him never ends). It is kept for whoever comes next, and goes at the end:
/// a GPU gives memory back only when all its work is done, and recordings of CUDA graphs do not survive such a wait.
class Scratch {
public:
  explicit Scratch(Backend &backend) : backend(backend) {}
  ~Scratch();
  Scratch(const Scratch &) = delete;
  Status reserve(uint64_t bytes);
  Result<ScratchPiece> take(uint64_t bytes);
  void give(ScratchPiece &piece);
  /// Whether a device's memory is the processor's too.
  bool isShared(DeviceAddress memory) const { return backend.hostView(memory) != nullptr; }
  uint64_t reserved() const { return area.bytes; }
  uint64_t most() const { return greatest; }

private:
  Result<ScratchPiece> allocate(uint64_t bytes);
  Result<ScratchPiece> takeExtra(uint64_t bytes);
  void release(const ScratchPiece &piece);

  Backend &backend;
  ScratchPiece area;
  std::map<uint64_t, uint64_t> free;          ///< of the area: begin and bytes
  std::map<uint8_t *, ScratchPiece> extras;   ///< in use beside it, by `host`: all that was taken for them
  std::multimap<uint64_t, ScratchPiece> idle; ///< the others, by bytes
  uint64_t inUse = 0, greatest = 0;
};

} // namespace npar::engine
