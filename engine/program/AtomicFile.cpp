// Whole files through POSIX calls, because only they report what a stream hides: a full disk at close, a directory instead of a file.
#include "engine/program/AtomicFile.h"

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

/// A rename is durable once the directory is synced; a file system that cannot is no error.
void syncDirectoryOf(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0)
    return;
  (void)::fsync(file);
  ::close(file);
}

} // namespace

Status writeFileAtomically(const std::string &path, const void *data, size_t size) {
  struct stat existing;
  bool exists = ::stat(path.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode))
    return failure("write", path, EISDIR);
  // A device or a pipe (/dev/stdout, /dev/full) cannot be renamed over: write through.
  if (exists && !S_ISREG(existing.st_mode)) {
    int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0)
      return failure("write", path, errno);
    int error = writeAll(file, static_cast<const uint8_t *>(data), size);
    ::close(file);
    return error && error != EINVAL && error != EROFS ? failure("write", path, error) : Status();
  }
  std::string temporary = path + ".XXXXXX";
  int file = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0)
    return failure("write", path, errno);
  mode_t mask = ::umask(0);
  ::umask(mask);
  int error = ::fchmod(file, exists ? existing.st_mode & 07777 : 0666 & ~mask) == 0 ? 0 : errno;
  if (!error)
    error = writeAll(file, static_cast<const uint8_t *>(data), size);
  if (::close(file) != 0 && !error)
    error = errno;
  if (!error && ::rename(temporary.c_str(), path.c_str()) != 0)
    error = errno;
  if (error) {
    ::unlink(temporary.c_str());
    return failure("write", path, error);
  }
  syncDirectoryOf(path);
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
