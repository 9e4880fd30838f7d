// Memory in which a worker packs operands and keeps sums while it works on a part of a step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <oneapi/tbb/enumerable_thread_specific.h>

namespace npar::engine {

/// Made by each worker when it first needs it, so that its pages are near it.
class WorkerScratch {
public:
  explicit WorkerScratch(uint64_t bytes)
      : memories([bytes] {
          Memory memory(std::aligned_alloc(64, (std::max<uint64_t>(bytes, 1) + 63) / 64 * 64));
          return memory ? std::move(memory) : throw std::bad_alloc();
        }) {}
  /// The calling worker's bytes, aligned to 64.
  void *own() { return memories.local().get(); }

private:
  struct Freed {
    void operator()(void *memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<void, Freed>;

  tbb::enumerable_thread_specific<Memory> memories;
};

} // namespace npar::engine
