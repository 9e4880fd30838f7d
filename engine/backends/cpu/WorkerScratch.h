// Memory in which a worker packs operands and keeps sums while it works on a part of a step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <sys/mman.h>

namespace npar::engine {

/// Allocated by each worker at its first use, so that its pages are local to it.
class WorkerScratch {
public:
  explicit WorkerScratch(uint64_t bytes)
      : memories([bytes] { return allocated(std::max<uint64_t>(bytes, 1)); }) {}
  /// The calling worker's bytes, aligned to 64.
  void *own() { return memories.local().get(); }

private:
  struct Freed {
    void operator()(void *memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<void, Freed>;
  static Memory allocated(uint64_t bytes) {
    // Uses large pages if the system has them, because panels of operands are far apart.
    uint64_t unit = bytes < largePage ? 64 : largePage;
    Memory memory(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
    if (!memory)
      throw std::bad_alloc();
    if (unit == largePage)
      ::madvise(memory.get(), bytes, MADV_HUGEPAGE);
    return memory;
  }
  static constexpr uint64_t largePage = 2 << 20;

  tbb::enumerable_thread_specific<Memory> memories;
};

} // namespace npar::engine
