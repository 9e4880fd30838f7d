// Implements synced files with POSIX calls, each with its own error message.
#include "engine/files/SyncedFile.h"

#include "engine/files/FileFailure.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace npar::files {

using engine::Result;
using engine::Status;

Result<SyncedFile> SyncedFile::create(const std::string &path) {
  SyncedFile result;
  result.path = path;
  result.file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (result.file < 0)
    return fileFailure("write", path, errno);
  return result;
}

SyncedFile::SyncedFile(SyncedFile &&other) noexcept
    : path(std::move(other.path)), file(std::exchange(other.file, -1)), written(other.written) {}

SyncedFile &SyncedFile::operator=(SyncedFile &&other) noexcept {
  std::swap(path, other.path);
  std::swap(file, other.file);
  std::swap(written, other.written);
  return *this;
}

SyncedFile::~SyncedFile() {
  if (file >= 0)
    ::close(file);
}

Status SyncedFile::write(const void *bytes, size_t size) {
  auto *from = static_cast<const uint8_t *>(bytes);
  while (size > 0) {
    ssize_t got = ::write(file, from, std::min<size_t>(size, size_t{1} << 30));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fileFailure("write", path, errno);
    from += got, size -= static_cast<size_t>(got), written += static_cast<uint64_t>(got);
  }
  return {};
}

Status SyncedFile::finish() {
  int error = ::fsync(file) == 0 ? 0 : errno;
  if (::close(std::exchange(file, -1)) != 0 && !error)
    error = errno;
  return error ? fileFailure("write", path, error) : Status();
}

} // namespace npar::files
