// Reads until the range is complete; an earlier end of the file means that it was truncated.
#include "engine/files/RangeFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace npar::files {

using engine::Result;
using engine::Status;

Result<RangeFile> RangeFile::open(const std::string &path, const std::string &what) {
  RangeFile result;
  result.text = what + " '" + path + "'";
  auto failure = [&](const std::string &why) { return Status::badInput("cannot read " + result.text + ": " + why); };
  result.file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (result.file < 0)
    return failure(std::strerror(errno));
  struct stat info;
  if (::fstat(result.file, &info) != 0 || !S_ISREG(info.st_mode))
    return failure(S_ISDIR(info.st_mode) ? "it is a directory" : "it is not a regular file");
  result.length = static_cast<uint64_t>(info.st_size);
  return result;
}

RangeFile::RangeFile(RangeFile &&other) noexcept : file(std::exchange(other.file, -1)), length(other.length), text(std::move(other.text)) {}

RangeFile &RangeFile::operator=(RangeFile &&other) noexcept {
  std::swap(file, other.file);
  std::swap(length, other.length);
  std::swap(text, other.text);
  return *this;
}

RangeFile::~RangeFile() {
  if (file >= 0)
    ::close(file);
}

Status RangeFile::read(uint64_t offset, size_t size, void *bytes) const {
  auto *at = static_cast<uint8_t *>(bytes);
  while (size > 0) {
    ssize_t got = ::pread(file, at, std::min(size, size_t{1} << 30), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return Status::badInput("cannot read " + text + " at byte " + std::to_string(offset) + ": " + std::strerror(errno));
    if (got == 0) {
      struct stat now {};
      bool known = ::fstat(file, &now) == 0 && static_cast<uint64_t>(now.st_size) < length;
      return Status::badInput("cannot read " + text + ": it ends at byte " +
                              std::to_string(known ? static_cast<uint64_t>(now.st_size) : offset) + ", but had " + std::to_string(length) +
                              " bytes when it was opened: it was truncated in the meantime");
    }
    at += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
  return {};
}

} // namespace npar::files
