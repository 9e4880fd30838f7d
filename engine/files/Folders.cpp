// Implements folders with POSIX calls, each with its own error message.
#include "engine/files/Folders.h"

#include "engine/files/Descriptor.h"
#include "engine/files/FileFailure.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace npar::files {

using engine::Result;
using engine::Status;

bool isFolder(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Status checkLink(const std::string &path) {
  struct stat info;
  bool dangles = ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode) && ::stat(path.c_str(), &info) != 0 && errno == ENOENT;
  return dangles ? Status::badInput("cannot create the folder '" + path +
                                    "': it is a symbolic link to a missing folder; create that folder, or give another name")
                 : Status();
}

Status makeFolder(const std::string &path) {
  if (::mkdir(path.c_str(), 0777) == 0)
    return {};
  int error = errno;
  if (Status status = checkLink(path); !status.ok())
    return status;
  struct stat info;
  if (error == EEXIST && ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode))
    error = ENOTDIR;
  return error == EEXIST ? Status() : fileFailure("make the folder", path, error);
}

Status makeNewFolder(const std::string &path) {
  return ::mkdir(path.c_str(), 0777) == 0 ? Status() : fileFailure("make the folder", path, errno);
}

Status syncFolder(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0)
    return fileFailure("sync the folder", path, errno);
  int error = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  if (error == EINVAL || error == EROFS || error == ENOTSUP) // a file system that cannot sync folders
    return {};
  return error ? fileFailure("sync the folder", path, error) : Status();
}

Status renameFolder(const std::string &from, const std::string &to) {
  return ::rename(from.c_str(), to.c_str()) == 0 ? Status() : fileFailure("rename '" + from + "' to", to, errno);
}

Result<std::vector<std::string>> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  DIR *entries = ::opendir(folder.c_str());
  if (!entries && errno == ENOENT)
    return names;
  if (!entries)
    return fileFailure("read the folder", folder, errno);
  std::unique_ptr<DIR, int (*)(DIR *)> closed(entries, ::closedir);
  while (const dirent *entry = ::readdir(entries))
    if (std::string name = entry->d_name; name != "." && name != "..")
      names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::unique_ptr<FolderLock>> FolderLock::take(const std::string &folder, HeartbeatTimes times) {
  Descriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file)
    return fileFailure("open the folder", folder, errno);
  std::string refusal = "cannot write to '" + folder + "': another run is using it";
  std::unique_ptr<FolderLock> lock(new FolderLock(file.get()));
  file.release();
  if (::flock(lock->file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Status::badInput(refusal);
  Result<std::unique_ptr<HeartbeatFile>> heartbeat = HeartbeatFile::take(folder + "/" + fileName, refusal, std::move(times));
  if (!heartbeat.ok())
    return heartbeat.status();
  lock->heartbeat = std::move(*heartbeat);
  return lock;
}

FolderLock::~FolderLock() {
  heartbeat.reset(); // while the other lock holds
  ::close(file);
}

} // namespace npar::files
