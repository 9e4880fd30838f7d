// Tells ThreadSanitizer which thread gave work or results to which, where oneTBB does it: the library is not instrumented, so each task
// that it hands over would look like a race. Without ThreadSanitizer nothing is left of this.
#pragma once

#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_acquire(void *address);
extern "C" void __tsan_release(void *address);
/// Marks a task's own function, which reads its captures before it can call `take`. ThreadSanitizer still checks the functions that it
/// calls.
#define NPAR_TAKES_OVER __attribute__((no_sanitize("thread"), noinline))
#else
#define NPAR_TAKES_OVER
#endif

namespace npar::engine {

/// All that a thread did before `give` comes before all that another one does after `take`. Promises what oneTBB keeps, and keeps nothing
/// itself.
class HandOver {
public:
#ifdef __SANITIZE_THREAD__
  void give() { __tsan_release(this); }
  void take() { __tsan_acquire(this); }
#else
  void give() {}
  void take() {}
#endif
};

} // namespace npar::engine
