// A file that grows during a run and replaces an older one only when it is complete.
#pragma once

#include "engine/files/Destination.h"
#include "engine/files/HeartbeatFile.h"
#include "engine/status/Observer.h"
#include "engine/status/Status.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace npar::files {

/// Writes PATH.partial; commit() renames it to PATH. Without commit (a failed run) PATH is untouched and PATH.partial stays for inspection.
/// Only one process can hold it. An operating system lock (flock) on PATH.partial ends with its holder in every case, so a leftover file
/// never blocks another run; PATH.partial.lock (HeartbeatFile.h) covers file systems that ignore such locks. A PATH.partial that is a link,
/// a pipe or anything else than a regular file is refused.
/// A device, a pipe or an open descriptor (/dev/stdout) is written directly without a lock; a pipe waits for its reader.
class PendingFile {
public:
  explicit PendingFile(const std::string &path);
  PendingFile(const PendingFile &) = delete;
  PendingFile &operator=(const PendingFile &) = delete;
  /// Closes the file, and removes it if claim() created it and nothing was written.
  ~PendingFile();

  /// Opens and locks the file without changing its content; call it before a long run. An error if the file cannot be written or another
  /// run holds it. `observer` hears what it waits for.
  engine::Status claim(engine::Observer &observer);
  /// Returns the number of bytes at the beginning of a file that are kept, or why it must stay as it is.
  using KeptBytes = std::function<engine::Result<size_t>(const std::string &path, const std::string &text)>;

  /// Empties the claimed file and returns its descriptor, which this object owns. With `kept` the file keeps a prefix of PATH.partial, or
  /// else of PATH, and is continued. An error of `kept` changes nothing.
  engine::Result<int> begin(const KeptBytes &kept = nullptr);
  engine::Status commit();

  /// The path under which the file grows.
  const std::string &growing() const { return partial; }
  /// Files that claim() has created and that must be removed if a signal ends the process now: the lock, and the log while it is empty.
  std::vector<std::string> abandoned() const;

private:
  engine::Status failure(int error) const;
  engine::Status openPartial();
  std::string path;
  Destination destination;
  std::string partial;
  std::unique_ptr<HeartbeatFile> lock;
  int file = -1;
  bool fresh = false;
};

/// An error if no file can be written at `path`; call it before a long run that ends with writing the file.
engine::Status checkWritable(const std::string &path);

} // namespace npar::files
