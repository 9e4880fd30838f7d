// A lock that needs no support by the file system: a small file with a counter that its holder moves, free when the counter stops.
#pragma once

#include "engine/status/Status.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace npar::files {

/// How often a holder moves its counter, and how long an observer waits for that. Tests set their own clock and need no thread.
struct HeartbeatTimes {
  double stale = 60;                   ///< seconds of the observer's clock after which a counter that has not moved gives the lock up
  double beat = 5;                     ///< seconds between two beats of the holder; 0: the caller beats
  double settle = 0.2;                 ///< seconds after a takeover in which another process that took over at the same moment shows
  std::function<double()> now;         ///< seconds of a clock that never goes back; null: the system's
  std::function<void(double)> sleep;   ///< waits for that number of seconds; null: the system's
  std::function<std::string()> holder; ///< identity of this process; null: boot, process namespace, process and its start
};

/// Held by one process at a time, also on file systems that ignore `flock` or know it within one machine only. A process of this machine
/// is known to be alive or gone at once; of another one the counter tells. The file goes with the object.
class HeartbeatFile {
public:
  /// An error, which begins with `refusal`, when another process holds it. Where it cannot see that process, it watches the counter
  /// for up to `stale` seconds and answers as soon as that moves.
  /// `unwritable` begins the error when the file cannot be made; empty: "cannot lock 'PATH'".
  static engine::Result<std::unique_ptr<HeartbeatFile>> take(const std::string &path, const std::string &refusal, HeartbeatTimes times = {},
                                                             const std::string &unwritable = "");
  ~HeartbeatFile();
  HeartbeatFile(const HeartbeatFile &) = delete;
  HeartbeatFile &operator=(const HeartbeatFile &) = delete;

  /// Moves the counter.
  void beat();
  /// Returns an error if another process has taken over the lock. Call it before each rename that the lock protects.
  engine::Status check() const;
  const std::string &name() const { return path; }

private:
  HeartbeatFile(std::string path, HeartbeatTimes times) : path(std::move(path)), times(std::move(times)) {}
  int create(const std::string &name);
  bool write();
  bool isNamed() const;
  void beatAlways();

  std::string path;
  HeartbeatTimes times;
  std::string token; ///< random token of this lock
  std::string text;  ///< contents of the file, which end in the counter
  uint64_t counter = 0;
  int file = -1;
  bool ending = false;
  std::mutex mutex; ///< guards counter and ending
  std::condition_variable wake;
  std::thread thread;
};

} // namespace npar::files
