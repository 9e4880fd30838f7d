// Writes beside the wanted path under a lock, renames at the end.
#include "tools/npar/files/PendingFile.h"

#include "engine/files/AtomicFile.h"
#include "tools/npar/terminal/Talk.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace npar::driver {

using engine::Result;
using engine::Status;

namespace {

Status cannotWrite(const std::string &path, int error) { return Status::badInput("cannot write '" + path + "': " + std::strerror(error)); }

bool isFolder(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// Whether the open file is still the one that the name leads to: its last holder may have renamed it meanwhile.
bool stillNamed(int file, const std::string &path) {
  struct stat open, named;
  return ::fstat(file, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

} // namespace

PendingFile::PendingFile(const std::string &path)
    : path(path), destination(program::destinationOf(path)),
      partial(destination.direct ? destination.path : destination.path + ".partial") {}

PendingFile::~PendingFile() {
  if (file < 0)
    return;
  if (fresh) // the lock still holds
    ::unlink(partial.c_str());
  ::close(file);
}

Status PendingFile::failure(int error) const { return cannotWrite(path, error); }

Status PendingFile::claim() {
  if (isFolder(destination.path))
    return failure(EISDIR);
  if (destination.direct) {
    file = destination.descriptor >= 0 ? ::fcntl(destination.descriptor, F_DUPFD_CLOEXEC, 0)
                                       : ::open(destination.path.c_str(), O_WRONLY | O_CLOEXEC);
    return file < 0 ? failure(errno) : Status();
  }
  while (true) {
    fresh = true;
    file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) {
      fresh = false;
      file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    }
    if (file < 0)
      return failure(errno);
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) {
        ::close(file);
        file = -1, fresh = false;
        return Status::badInput("another run is writing '" + partial + "': wait for it or stop it, or give another file");
      }
      printRemark("cannot lock '" + partial + "' (" + std::strerror(errno) + "): see that no other run writes it");
      return {};
    }
    if (stillNamed(file, partial))
      return {};
    ::close(file);
  }
}

Result<int> PendingFile::begin(const std::function<size_t(const std::string &)> &kept) {
  if (destination.direct)
    return file;
  auto textOf = [&](const std::string &name) {
    Result<std::vector<uint8_t>> bytes = kept ? program::readFile(name, UINT64_MAX) : std::vector<uint8_t>();
    return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "";
  };
  std::string before = textOf(partial);
  size_t size = kept ? kept(before) : 0; // cut off where it is: no kill can lose it
  if (::ftruncate(file, static_cast<off_t>(size)) != 0 || ::lseek(file, 0, SEEK_END) < 0)
    return failure(errno);
  if (kept && size == 0)
    before = textOf(destination.path), size = kept(before);
  else
    size = 0;
  for (size_t at = 0; at < size;) {
    ssize_t got = ::write(file, before.data() + at, size - at);
    if (got < 0 && errno != EINTR)
      return failure(errno);
    at += static_cast<size_t>(std::max<ssize_t>(0, got));
  }
  fresh = false;
  return file;
}

Status PendingFile::commit() {
  if (!destination.direct && std::rename(partial.c_str(), destination.path.c_str()) != 0)
    return failure(errno);
  return {};
}

Status checkWritable(const std::string &path) {
  program::Destination destination = program::destinationOf(path);
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

} // namespace npar::driver
