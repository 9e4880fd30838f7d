// A sign of life on stderr while something takes long: what is being done, and since when.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace npar::driver {

/// One speaks at a time: what is waited for inside of another one is a phase of that. Made and ended by one thread.
/// Says nothing for the first two seconds. Then a terminal gets one line that is redrawn and wiped at the end; elsewhere a line comes when
/// the phase changes (at most every two seconds) and every ten seconds. Has a thread of its own, so it speaks within the longest phase too.
class Waiting {
public:
  /// `what` is being done, such as "compiling gpt2".
  explicit Waiting(std::string what);
  ~Waiting();
  Waiting(const Waiting &) = delete;
  Waiting &operator=(const Waiting &) = delete;
  /// Returns the one before.
  std::string phase(const std::string &name);

  /// Makes all of them print nothing any more, for --quiet.
  static void silence();

private:
  using Clock = std::chrono::steady_clock;
  void watch();
  void show(double seconds);
  std::string what, current, before; ///< before: the phase of `outer` until this one began
  Waiting *outer = nullptr;          ///< which speaks for this one too; null: none
  bool terminal, drawn = false, changed = false, over = false;
  Clock::time_point begun, last;
  std::mutex mutex;
  std::condition_variable wake;
  std::thread thread;
};

} // namespace npar::driver
