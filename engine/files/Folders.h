// Folders that take their place as a whole: made, synced, renamed, removed.
#pragma once

#include "engine/files/HeartbeatFile.h"
#include "engine/status/Status.h"

#include <memory>
#include <string>
#include <vector>

namespace npar::program {

/// Refuses the name of a folder to make where it is a link that leads nowhere: a mount that is away must not become a new folder elsewhere.
engine::Status checkLink(const std::string &path);

/// Makes a folder in one that exists; one that is there already is good.
engine::Status makeFolder(const std::string &path);

/// Makes a folder; one that is there already is an error.
engine::Status makeNewFolder(const std::string &path);

/// What has been made, renamed or removed in a folder is on the disk afterwards.
engine::Status syncFolder(const std::string &path);

/// Gives a folder another name, which no other one may have unless it is empty.
engine::Status renameFolder(const std::string &from, const std::string &to);

/// The names in a folder, ascending, without `.` and `..`. None where there is no such folder.
engine::Result<std::vector<std::string>> namesIn(const std::string &folder);

/// Held by one process at a time: by a lock of the operating system (flock), which ends with its holder whatever ended that, and, for file
/// systems that ignore those, by a HeartbeatFile in the folder.
class FolderLock {
public:
  static constexpr const char *fileName = ".npar-lock";
  /// An error that says so when another process holds it.
  static engine::Result<std::unique_ptr<FolderLock>> take(const std::string &folder, HeartbeatTimes times = {});
  ~FolderLock();
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;

  /// An error when another process has taken the folder over: to be asked before each rename in it.
  engine::Status check() const { return heartbeat->check(); }

private:
  explicit FolderLock(int file) : file(file) {}
  int file;
  std::unique_ptr<HeartbeatFile> heartbeat;
};

} // namespace npar::program
