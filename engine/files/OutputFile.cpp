// Writes with POSIX calls, because only they report what a stream hides: a full disk at sync, a directory instead of a file.
#include "engine/files/OutputFile.h"

#include "engine/files/Descriptor.h"
#include "engine/files/RandomName.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace npar::files {
using engine::Code;
using engine::Result;
using engine::Status;

namespace {

constexpr size_t largestCall = size_t{1} << 30; // the kernel takes no more than 2 GiB at once

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

/// Writes everything at `offset`, or at the file's position if that is negative; returns 0 or errno.
int writeAll(int file, const void *data, size_t size, int64_t offset) {
  auto *bytes = static_cast<const uint8_t *>(data);
  while (size > 0) {
    size_t part = std::min(size, largestCall);
    ssize_t written = offset < 0 ? ::write(file, bytes, part) : ::pwrite(file, bytes, part, offset);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return errno;
    bytes += written;
    size -= static_cast<size_t>(written);
    offset += offset < 0 ? 0 : written;
  }
  return 0;
}

/// A rename is durable once the directory is synced; a file system that cannot is no error.
void syncFolderOf(const std::string &path) {
  int folder = ::open(folderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return;
  (void)::fsync(folder);
  ::close(folder);
}

} // namespace

OutputFile::OutputFile(OutputFile &&other) noexcept
    : path(std::move(other.path)), destination(std::move(other.destination)), file(std::exchange(other.file, -1)),
      temporary(std::exchange(other.temporary, {})), old(other.old), position(other.position) {}

OutputFile &OutputFile::operator=(OutputFile &&other) noexcept {
  std::swap(path, other.path);
  std::swap(destination, other.destination);
  std::swap(file, other.file);
  std::swap(temporary, other.temporary);
  old = other.old, position = other.position;
  return *this;
}

OutputFile::~OutputFile() {
  if (!temporary.empty())
    ::unlink(temporary.c_str());
  if (file >= 0)
    ::close(file);
}

Status OutputFile::failure(int error) const { return Status(Code::BadInput, "cannot write '" + path + "': " + std::strerror(error)); }

Result<OutputFile> OutputFile::create(const std::string &path) {
  OutputFile output(path);
  if (output.destination.direct) {
    Result<int> opened = openDirect(output.destination, path);
    if (!opened.ok())
      return opened.status();
    output.file = *opened;
    return output;
  }
  if (int error = output.openBeside())
    return output.failure(error);
  return output;
}

int OutputFile::openBeside() {
  struct stat existing;
  bool exists = ::stat(destination.path.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode))
    return EISDIR;
  if (exists)
    old = Attributes{existing.st_uid, existing.st_gid, existing.st_mode & 07777};
  file = ::open(folderOf(destination.path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, old ? 0600 : 0666);
  if (file < 0) // a file system that knows no files without a name
    return makeNamed();
  return keepAttributes();
}

/// Creates the file under a random name next to its destination. Returns 0 or errno.
int OutputFile::makeNamed() {
  std::string name = destination.path + "." + randomName().substr(0, 12);
  file = ::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, old ? 0600 : 0666);
  if (file < 0)
    return errno;
  temporary = std::move(name);
  return keepAttributes();
}

/// Gives the new file the owner and the permissions of the old one. Returns 0 or errno.
int OutputFile::keepAttributes() {
  if (!old)
    return 0;
  (void)!::fchown(file, old->user, old->group); // as far as this user may
  return ::fchmod(file, old->mode) == 0 ? 0 : errno;
}

Status OutputFile::write(uint64_t offset, const void *data, size_t size) {
  if (!destination.direct) {
    int error = writeAll(file, data, size, static_cast<int64_t>(offset));
    return error ? failure(error) : Status();
  }
  if (offset != position)
    return Status(Code::Internal,
                  "'" + path + "' takes bytes in order only, byte " + std::to_string(position) + " is next, not " + std::to_string(offset));
  position += size;
  int error = writeAll(file, data, size, -1);
  return error ? failure(error) : Status();
}

/// A link replaces nothing, a rename does: the name in between is only this short while there. Returns 0 or errno.
int OutputFile::giveName() {
  std::string self = "/proc/self/fd/" + std::to_string(file);
  for (int i = 0; i < 1000; ++i) {
    std::string name = destination.path + "." + std::to_string(::getpid()) + "-" + std::to_string(i);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary = std::move(name);
      return 0;
    }
    if (errno != EEXIST)
      break;
  }
  return copyToNamed(); // no /proc, or a file system that gives no name later
}

int OutputFile::copyToNamed() {
  Descriptor from(std::exchange(file, -1));
  int error = makeNamed(), copy = file;
  std::vector<uint8_t> block(1 << 20);
  ssize_t got = 1;
  for (int64_t at = 0; !error && got != 0; at += std::max<ssize_t>(0, got)) {
    got = ::pread(from.get(), block.data(), block.size(), at);
    if (got > 0)
      error = writeAll(copy, block.data(), static_cast<size_t>(got), at);
    else if (got < 0 && errno != EINTR)
      error = errno;
  }
  if (!error && ::fsync(copy) != 0)
    error = errno;
  return error;
}

Status OutputFile::commit() {
  int error = ::fsync(file) == 0 ? 0 : errno;
  if (destination.direct && (error == EINVAL || error == EROFS)) // what cannot be synced
    error = 0;
  if (!error && !destination.direct && temporary.empty())
    error = giveName();
  if (::close(std::exchange(file, -1)) != 0 && !error)
    error = errno;
  if (!error && !destination.direct) {
    error = ::rename(temporary.c_str(), destination.path.c_str()) == 0 ? 0 : errno;
    if (!error)
      temporary.clear(), syncFolderOf(destination.path);
  }
  return error ? failure(error) : Status();
}

} // namespace npar::files
