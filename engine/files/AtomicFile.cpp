// Whole files through POSIX calls, because only they report what a stream hides: a full disk at close, a directory instead of a file.
#include "engine/files/AtomicFile.h"

#include "engine/files/Destination.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace npar::program {
using engine::Code;
using engine::Result;
using engine::Status;

namespace {

Status failure(const std::string &what, const std::string &path, int error) {
  return Status(Code::BadInput, "cannot " + what + " '" + path + "': " + std::strerror(error));
}

/// Writes everything; returns 0 or errno.
int writeAll(int file, const uint8_t *data, size_t size) {
  while (size > 0) {
    ssize_t written = ::write(file, data, std::min<size_t>(size, size_t(1) << 30));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return errno;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return ::fsync(file) == 0 ? 0 : errno;
}

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

/// A rename is durable once the directory is synced; a file system that cannot is no error.
void syncDirectoryOf(const std::string &path) {
  int file = ::open(folderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0)
    return;
  (void)::fsync(file);
  ::close(file);
}

/// Writes to a descriptor, device or pipe as it is. Returns 0 or errno.
int writeThrough(const Destination &destination, const uint8_t *data, size_t size) {
  int file = destination.descriptor >= 0 ? ::fcntl(destination.descriptor, F_DUPFD_CLOEXEC, 0)
                                         : ::open(destination.path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return errno;
  int error = writeAll(file, data, size);
  ::close(file);
  return error == EINVAL || error == EROFS ? 0 : error; // what cannot be synced
}

/// Gives an open file its mode and its content.
int fill(int file, mode_t mode, const uint8_t *data, size_t size) { return ::fchmod(file, mode) == 0 ? writeAll(file, data, size) : errno; }

constexpr int noUnnamed = -1; ///< the file system, or a missing /proc, knows no file without a name

/// Writes a file that has no name until it is whole: whatever ends the process leaves nothing behind. Returns 0, errno or noUnnamed.
int writeUnnamed(const std::string &path, mode_t mode, const uint8_t *data, size_t size) {
  int file = ::open(folderOf(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0)
    return noUnnamed;
  int error = fill(file, mode, data, size);
  if (!error) {
    // A link replaces nothing, a rename does: the name in between is only this short while there.
    std::string self = "/proc/self/fd/" + std::to_string(file), name;
    for (int i = 0; i == 0 || (error == EEXIST && i < 1000); ++i) {
      name = path + "." + std::to_string(::getpid()) + "-" + std::to_string(i);
      error = ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
    }
    if (error)
      error = noUnnamed;
    else if (::rename(name.c_str(), path.c_str()) != 0) {
      error = errno;
      ::unlink(name.c_str());
    }
  }
  if (::close(file) != 0 && !error)
    error = errno;
  return error;
}

/// The same with a name from the start. Returns 0 or errno.
int writeNamed(const std::string &path, mode_t mode, const uint8_t *data, size_t size) {
  std::string temporary = path + ".XXXXXX";
  int file = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0)
    return errno;
  int error = fill(file, mode, data, size);
  if (::close(file) != 0 && !error)
    error = errno;
  if (!error && ::rename(temporary.c_str(), path.c_str()) != 0)
    error = errno;
  if (error)
    ::unlink(temporary.c_str());
  return error;
}

} // namespace

Status writeFileAtomically(const std::string &path, const void *data, size_t size) {
  Destination destination = destinationOf(path);
  const uint8_t *bytes = static_cast<const uint8_t *>(data);
  if (destination.direct) {
    int error = writeThrough(destination, bytes, size);
    return error ? failure("write", path, error) : Status();
  }
  struct stat existing;
  bool exists = ::stat(destination.path.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode))
    return failure("write", path, EISDIR);
  mode_t mask = ::umask(0);
  ::umask(mask);
  mode_t mode = exists ? existing.st_mode & 07777 : 0666 & ~mask;
  int error = writeUnnamed(destination.path, mode, bytes, size);
  if (error == noUnnamed)
    error = writeNamed(destination.path, mode, bytes, size);
  if (error)
    return failure("write", path, error);
  syncDirectoryOf(destination.path);
  return {};
}

Result<std::vector<uint8_t>> readFile(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return failure("read", path, errno);
  std::vector<uint8_t> bytes;
  struct stat status;
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode))
    bytes.reserve(static_cast<size_t>(status.st_size));
  std::vector<uint8_t> block(1 << 20);
  while (true) {
    ssize_t got = ::read(file, block.data(), block.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0) {
      Status status = failure("read", path, errno);
      ::close(file);
      return status;
    }
    if (got == 0)
      break;
    bytes.insert(bytes.end(), block.begin(), block.begin() + got);
  }
  ::close(file);
  return bytes;
}

} // namespace npar::program
