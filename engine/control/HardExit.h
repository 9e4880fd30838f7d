// Ends the process although its main thread is stuck in a library that waits for ever.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace npar::engine {

/// Armed when a job has failed: whoever has not ended in order by then is ended, without destructors and without the farewells of
/// libraries.
class HardExit {
public:
  /// `lastWords` is called, from a thread of its own, before the process ends: a report that nobody else has printed.
  explicit HardExit(std::function<void()> lastWords);
  /// Disarms it.
  ~HardExit();
  /// The process ends in `seconds` with this exit code. The first call counts.
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

} // namespace npar::engine
