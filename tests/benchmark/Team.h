// Plain threads in place of the engine's workers, and their memory, for modules that measure parts of it from Python.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <vector>

namespace npar::testing {

/// Workers that spin between calls, as an OpenMP team does: threads asleep would cost more than small products take.
class Team {
public:
  explicit Team(int workers) {
    for (int i = 1; i < workers; ++i)
      threads.emplace_back([this, i] { work(i); });
  }
  ~Team() {
    stopping = true;
    ++round;
    for (std::thread &thread : threads)
      thread.join();
  }
  void run(const std::function<void(int)> &each) {
    job = &each;
    left = int(threads.size());
    ++round;
    each(0);
    await([this] { return left.load() == 0; });
  }

private:
  /// Spins for a while, then lets other threads run: those of PyTorch spin, too.
  template <typename Done> static void await(Done done) {
    for (int spins = 0; !done(); ++spins)
      spins < 2000 ? __builtin_ia32_pause() : std::this_thread::yield();
  }
  void work(int index) {
    for (int seen = 0;; ++seen) {
      await([this, seen] { return round.load() != seen; });
      if (stopping)
        return;
      (*job)(index);
      --left;
    }
  }
  std::vector<std::thread> threads;
  std::atomic<int> round{0}, left{0};
  std::atomic<bool> stopping{false};
  const std::function<void(int)> *job = nullptr;
};

struct FreeMemory {
  void operator()(void *memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, FreeMemory>;

/// Large ones, as the engine's workers have them.
inline Memory pages(uint64_t bytes) {
  constexpr uint64_t unit = 2 << 20;
  Memory memory(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
  ::madvise(memory.get(), bytes, MADV_HUGEPAGE);
  return memory;
}

} // namespace npar::testing
