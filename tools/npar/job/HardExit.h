// Ends the process when its main thread is stuck in a library that waits forever.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace npar::driver {

/// Armed when a job has failed. A process that has not ended normally by the deadline is ended, without destructors and without the
/// shutdown of libraries.
class HardExit {
public:
  /// `lastWords` is called, from a thread of its own, before the process ends: it can print a report that was not printed yet.
  explicit HardExit(std::function<void()> lastWords);
  /// Disarms it.
  ~HardExit();
  /// Makes the process end in `seconds` with this exit code. The first call counts.
  void arm(double seconds, int code);

private:
  void run();

  std::function<void()> lastWords;
  std::mutex mutex;
  std::condition_variable wake;
  bool armed = false, quitting = false;
  double seconds = 0;
  int code = 0;
  std::thread thread;
};

} // namespace npar::driver
