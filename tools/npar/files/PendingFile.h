// A file that grows while a run goes on and replaces an older one only when it is complete.
#pragma once

#include "engine/files/Destination.h"
#include "engine/files/HeartbeatFile.h"
#include "engine/status/Status.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace npar::driver {

/// Grows as PATH.partial; commit() renames it to PATH. Without commit (a failed run) PATH is untouched and PATH.partial stays for a look.
/// Only one process can hold it: a lock of the operating system (flock) on PATH.partial, which ends with its holder whatever ended that, so
/// that a file left behind blocks no other run, and PATH.partial.lock (HeartbeatFile.h) for file systems that ignore those. A PATH.partial that
/// is a link, a pipe or anything else than a regular file is refused.
/// A device, a pipe or an open descriptor (/dev/stdout) is written directly and not locked; a pipe waits for its reader.
class PendingFile {
public:
  explicit PendingFile(const std::string &path);
  PendingFile(const PendingFile &) = delete;
  PendingFile &operator=(const PendingFile &) = delete;
  /// Closes; a file that claim() made and nothing was written to is removed.
  ~PendingFile();

  /// Opens and locks, leaving what is there: asked before a long run. An error when it cannot be written or another run holds it.
  engine::Status claim();
  /// Empties the claimed file and returns its descriptor, which stays this object's. With `kept` it goes on instead: that says how many
  /// bytes of a text, of one that was left growing or else of the complete one, come before what is to be written now.
  engine::Result<int> begin(const std::function<size_t(const std::string &)> &kept = nullptr);
  engine::Status commit();

  /// The path under which the file grows.
  const std::string &growing() const { return partial; }
  /// Files that claim() has created and that must be removed if a signal ends the process now: the lock, and the log while it is empty.
  std::vector<std::string> abandoned() const;

private:
  engine::Status failure(int error) const;
  engine::Status openPartial();
  std::string path;
  program::Destination destination;
  std::string partial;
  std::unique_ptr<program::HeartbeatFile> lock;
  int file = -1;
  bool fresh = false;
};

/// Whether a file could be written whole at `path`: asked before a long run whose last act it is.
engine::Status checkWritable(const std::string &path);

} // namespace npar::driver
