// Memory through which messages pass, allocated once and reused for each.
#pragma once

#include "engine/device/Backend.h"

#include <map>
#include <vector>

namespace npar::engine {

/// The processor sees it at `host` and the device at `device`: the same bytes if the processor can access the device's memory, otherwise
/// two places between which bytes must be copied.
struct ScratchPiece {
  uint8_t *host = nullptr;
  DeviceAddress device;
  uint64_t bytes = 0; ///< 0: none
};

/// For one thread and one backend. One area is reserved at the start. Requests that do not fit are allocated from the backend, so that no
/// request waits for another to return memory, which could deadlock. Such memory is kept for later requests and released at the end: a GPU
/// frees memory only when all its work is done, and recordings of CUDA graphs do not survive such a wait.
class Scratch {
public:
  explicit Scratch(Backend &backend) : backend(backend) {}
  ~Scratch();
  Scratch(const Scratch &) = delete;
  Status reserve(uint64_t bytes);
  Result<ScratchPiece> take(uint64_t bytes);
  void give(ScratchPiece &piece);
  /// True if the processor can access this device memory.
  bool isShared(DeviceAddress memory) const { return backend.hostView(memory) != nullptr; }
  uint64_t reserved() const { return area.bytes; }
  uint64_t most() const { return greatest; }

private:
  Result<ScratchPiece> allocate(uint64_t bytes);
  Result<ScratchPiece> takeExtra(uint64_t bytes);
  void release(const ScratchPiece &piece);

  Backend &backend;
  ScratchPiece area;
  std::map<uint64_t, uint64_t> free;          ///< free parts of the area: begin and bytes
  std::map<uint8_t *, ScratchPiece> extras;   ///< in use outside the area, by `host`: the whole allocations
  std::multimap<uint64_t, ScratchPiece> idle; ///< unused allocations outside the area, by bytes
  uint64_t inUse = 0, greatest = 0;
};

} // namespace npar::engine
