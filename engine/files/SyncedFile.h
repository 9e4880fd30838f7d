// A new file that is written from its beginning to its end and is on the disk when it is finished.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace npar::files {

/// For files of a folder that takes its place as a whole (Folders.h): the file has its own name from the start. Movable.
class SyncedFile {
public:
  /// Makes the file; one that is there already is an error.
  static engine::Result<SyncedFile> create(const std::string &path);
  SyncedFile(SyncedFile &&other) noexcept;
  SyncedFile &operator=(SyncedFile &&other) noexcept;
  ~SyncedFile();

  engine::Status write(const void *bytes, size_t size);
  /// Syncs and closes.
  engine::Status finish();
  uint64_t size() const { return written; }

private:
  SyncedFile() = default;
  std::string path;
  int file = -1;
  uint64_t written = 0;
};

} // namespace npar::files
