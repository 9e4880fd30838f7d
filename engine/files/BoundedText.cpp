// Counts while it reads: a pipe reports no size, and a file may have grown since.
#include "engine/files/BoundedText.h"

#include "engine/files/Descriptor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace npar::files {

using engine::Result;
using engine::Status;

namespace {

constexpr size_t readBytes = size_t{1} << 20;

std::string sizeText(uint64_t bytes) {
  std::string text = std::to_string(bytes) + " bytes";
  for (auto [shift, unit] : {std::pair(30, "GiB"), {20, "MiB"}, {10, "KiB"}})
    if (bytes >> shift != 0 && (bytes >> shift) << shift == bytes)
      return text + " (" + std::to_string(bytes >> shift) + " " + unit + ")";
  return text;
}

/// Reads once from a non-blocking file and waits for data of a pipe or a terminal. Returns -1 and sets errno on failure.
ssize_t readSome(int file, void *bytes, size_t size) {
  while (true) {
    ssize_t got = ::read(file, bytes, size);
    if (got >= 0 || (errno != EINTR && errno != EAGAIN))
      return got;
    if (errno == EINTR)
      continue;
    pollfd one{file, POLLIN, 0};
    if (int ready = ::poll(&one, 1, longestSilence * 1000); ready == 0) {
      errno = ETIMEDOUT;
      return -1;
    } else if (ready < 0 && errno != EINTR) {
      return -1;
    }
  }
}

template <typename Bytes> Result<Bytes> readBounded(const std::string &path, const std::string &what, uint64_t most) {
  auto failure = [&](const std::string &why) {
    return Status::badInput("cannot read " + what + (what.empty() ? "'" : " '") + path + "': " + why);
  };
  auto tooLarge = [&] { return failure("it has more than " + sizeText(most) + ", the limit"); };
  Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const int file = opened.get();
  struct stat info;
  if (file < 0 || ::fstat(file, &info) != 0)
    return failure(std::strerror(errno));
  if (S_ISDIR(info.st_mode))
    return failure("it is a directory");
  if (S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) > most)
    return tooLarge();
  // A pipe without a writer yet reads as if it had ended.
  if (pollfd one{file, POLLIN, 0}; S_ISFIFO(info.st_mode) && ::poll(&one, 1, longestSilence * 1000) == 0)
    return failure("no data came from this pipe for " + std::to_string(longestSilence) + " s");
  Bytes bytes;
  bytes.resize(S_ISREG(info.st_mode) ? static_cast<size_t>(info.st_size) : 0);
  size_t size = 0;
  while (true) {
    if (size == bytes.size()) // also at the end that a regular file stated: it may have grown
      bytes.resize(size + static_cast<size_t>(std::min<uint64_t>(readBytes, most - size + 1)));
    ssize_t got = readSome(file, bytes.data() + size, bytes.size() - size);
    if (got < 0)
      return failure(errno == ETIMEDOUT ? "no data came from it for " + std::to_string(longestSilence) + " s" : std::strerror(errno));
    size += static_cast<size_t>(got);
    if (size > most)
      return tooLarge();
    if (got == 0)
      break;
  }
  bytes.resize(size);
  return bytes;
}

} // namespace

Result<std::string> readBoundedText(const std::string &path, const std::string &what, uint64_t most) {
  return readBounded<std::string>(path, what, most);
}

Result<std::vector<uint8_t>> readBoundedBytes(const std::string &path, const std::string &what, uint64_t most) {
  return readBounded<std::vector<uint8_t>>(path, what, most);
}

} // namespace npar::files
