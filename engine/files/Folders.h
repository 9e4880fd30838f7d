// Folders that are replaced as a whole: made, synced, renamed, removed.
#pragma once

#include "engine/files/HeartbeatFile.h"
#include "engine/status/Status.h"

#include <memory>
#include <string>
#include <vector>

namespace npar::files {

/// Refuses to make a folder whose name is a dangling link: an unmounted file system must not become a new folder elsewhere.
engine::Status checkLink(const std::string &path);

/// Makes a folder in an existing one; it may already exist.
engine::Status makeFolder(const std::string &path);

/// Makes a folder; it is an error if it already exists.
engine::Status makeNewFolder(const std::string &path);

/// Makes sure that entries made, renamed or removed in a folder are on the disk.
engine::Status syncFolder(const std::string &path);

/// Renames a folder. If the new name exists, it must be an empty folder.
engine::Status renameFolder(const std::string &from, const std::string &to);

/// Follows links; false if there is nothing of that name.
bool isFolder(const std::string &path);

/// The names in a folder, ascending, without `.` and `..`; empty if there is no such folder.
engine::Result<std::vector<std::string>> namesIn(const std::string &folder);

/// A lock that one process at a time can hold. It is a lock of the operating system (flock), which ends with its holder however that ended,
/// and, for file systems that ignore flock, a HeartbeatFile in the folder.
class FolderLock {
public:
  static constexpr const char *fileName = ".npar-lock";
  /// Returns an error that names the cause if another process holds the lock.
  static engine::Result<std::unique_ptr<FolderLock>> take(const std::string &folder, HeartbeatTimes times = {});
  ~FolderLock();
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;

  /// Returns an error if another process has taken over the folder: call it before each rename in the folder.
  engine::Status check() const { return heartbeat->check(); }

private:
  explicit FolderLock(int file) : file(file) {}
  int file;
  std::unique_ptr<HeartbeatFile> heartbeat;
};

} // namespace npar::files
