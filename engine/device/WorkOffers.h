// Counts offers of work to idle workers, so that those that are still awake notice new work before they sleep (runtime/ChainRunner.h).
#pragma once

#include <atomic>
#include <cstdint>

namespace npar::engine {

/// One counter for the whole process: an offer of another session wakes no worker, it only ends a wait early.
class WorkOffers {
public:
  static void add() {
    ++own;
    offers.fetch_add(1, std::memory_order_release);
  }
  static uint64_t count() { return offers.load(std::memory_order_acquire); }
  /// The offers that the calling thread made.
  static uint64_t ofThisThread() { return own; }

private:
  inline static thread_local uint64_t own = 0;
  alignas(64) inline static std::atomic<uint64_t> offers{0};
};

} // namespace npar::engine
