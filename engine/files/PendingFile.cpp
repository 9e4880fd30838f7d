// Writes a locked temporary file next to the final path, and renames it at the end.
#include "engine/files/PendingFile.h"

#include "engine/files/AtomicFile.h"
#include "engine/files/Folders.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace npar::files {

using engine::Result;
using engine::Status;

namespace {

Status cannotWrite(const std::string &path, int error) { return Status::badInput("cannot write '" + path + "': " + std::strerror(error)); }

/// Sleeps with all signals unblocked, so that signals held back by the caller are delivered.
void sleepUntilSignal(double seconds) {
  auto whole = static_cast<time_t>(seconds);
  timespec time = {whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  sigset_t none;
  ::sigemptyset(&none);
  (void)::ppoll(nullptr, 0, &time, &none);
}

/// True if `path` still names the open file, which its last holder may have renamed since it was opened.
bool stillNamed(int file, const std::string &path) {
  struct stat open, named;
  return ::fstat(file, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/// Reads a file and asks how much of it is kept: 0 bytes if there is none.
Result<size_t> keptOf(const std::string &path, const PendingFile::KeptBytes &kept, std::string &text) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT)
    return size_t{0};
  TRY(const std::vector<uint8_t> bytes, readFile(path, UINT64_MAX));
  text.assign(bytes.begin(), bytes.end());
  return kept(path, text);
}

} // namespace

PendingFile::PendingFile(const std::string &path)
    : path(path), destination(destinationOf(path)), partial(destination.direct ? destination.path : destination.path + ".partial") {}

PendingFile::~PendingFile() {
  if (file < 0)
    return;
  if (fresh) // still under the lock
    ::unlink(partial.c_str());
  ::close(file);
}

Status PendingFile::failure(int error) const { return cannotWrite(path, error); }

Status PendingFile::claim(engine::Observer &observer) {
  if (isFolder(destination.path))
    return failure(EISDIR);
  if (destination.direct) {
    engine::Activity activity(observer, "waiting for a reader of '" + path + "'");
    Result<int> opened = openDirect(destination, path);
    file = opened.ok() ? *opened : -1;
    return opened.status();
  }
  std::string refusal = "another run is writing '" + partial + "': wait for it or stop it, or give another file";
  HeartbeatTimes times;
  times.sleep = sleepUntilSignal;
  Result<std::unique_ptr<HeartbeatFile>> held = [&] {
    engine::Activity activity(observer, "checking whether another run still writes '" + partial + "'");
    return HeartbeatFile::take(partial + ".lock", refusal, times, "cannot write '" + path + "'");
  }();
  if (!held.ok())
    return held.status();
  lock = std::move(*held);
  while (true) {
    if (Status status = openPartial(); !status.ok())
      return status;
    if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) { // other errors: the file system has no such locks
      ::close(file);
      file = -1, fresh = false;
      return Status::badInput(refusal);
    }
    if (stillNamed(file, partial))
      return {};
    ::close(file);
  }
}

/// Opens or creates a regular file. Follows no link and does not wait for the other end of a pipe.
Status PendingFile::openPartial() {
  constexpr int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  fresh = true;
  file = ::open(partial.c_str(), flags | O_EXCL, 0666);
  if (file < 0 && errno == EEXIST) {
    fresh = false;
    file = ::open(partial.c_str(), flags, 0666);
  }
  struct stat info;
  bool regular = file >= 0 && ::fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  if (regular)
    return {};
  int error = errno;
  bool other = file >= 0 || error == ELOOP || error == ENXIO || error == EISDIR; // a link, a pipe without a reader, a folder
  if (file >= 0)
    ::close(std::exchange(file, -1));
  return other ? Status::badInput("cannot write '" + partial + "', which grows into '" + path + "': it is not a regular file; remove it")
               : failure(error);
}

std::vector<std::string> PendingFile::abandoned() const {
  std::vector<std::string> names;
  if (lock)
    names.push_back(lock->name());
  if (fresh)
    names.push_back(partial);
  return names;
}

Result<int> PendingFile::begin(const KeptBytes &kept) {
  if (destination.direct)
    return file;
  size_t inPlace = 0; // truncated in place, so a kill cannot lose it
  std::string copied; // from PATH
  if (kept) {
    TRY(inPlace, keptOf(partial, kept, copied));
    size_t size = 0;
    if (inPlace == 0) {
      TRY(size, keptOf(destination.path, kept, copied));
    }
    copied.resize(size);
  }
  if (::ftruncate(file, static_cast<off_t>(inPlace)) != 0 || ::lseek(file, 0, SEEK_END) < 0)
    return failure(errno);
  for (size_t at = 0; at < copied.size();) {
    ssize_t got = ::write(file, copied.data() + at, copied.size() - at);
    if (got < 0 && errno != EINTR)
      return failure(errno);
    at += static_cast<size_t>(std::max<ssize_t>(0, got));
  }
  fresh = false;
  return file;
}

Status PendingFile::commit() {
  if (destination.direct)
    return {};
  if (Status status = lock->check(); !status.ok())
    return status;
  if (::fsync(file) != 0 && errno != EINVAL && errno != EROFS)
    return failure(errno);
  if (std::rename(partial.c_str(), destination.path.c_str()) != 0)
    return failure(errno);
  return syncFolder(destination.path.substr(0, destination.path.rfind('/') + 1)); // which is absolute
}

Status checkWritable(const std::string &path) {
  Destination destination = destinationOf(path);
  if (destination.direct)
    return {};
  if (isFolder(destination.path))
    return cannotWrite(path, EISDIR);
  std::string probe = destination.path + ".XXXXXX"; // a name of its own: another run may be probing too
  int file = ::mkostemp(probe.data(), O_CLOEXEC);
  if (file < 0)
    return cannotWrite(path, errno);
  ::unlink(probe.c_str());
  ::close(file);
  return {};
}

} // namespace npar::files
