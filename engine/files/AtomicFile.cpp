// Whole files through POSIX calls, because only they report what a stream hides: a directory instead of a file, a disk that fails.
#include "engine/files/AtomicFile.h"

#include "engine/files/Descriptor.h"
#include "engine/files/FileFailure.h"
#include "engine/files/OutputFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace npar::files {
using engine::Code;
using engine::Result;
using engine::Status;

Status writeFileAtomically(const std::string &path, const void *data, size_t size) {
  Result<OutputFile> output = OutputFile::create(path);
  if (!output.ok())
    return output.status();
  Status status = output->write(0, data, size);
  return status.ok() ? output->commit() : status;
}

Result<std::vector<uint8_t>> readFile(const std::string &path, uint64_t largest) {
  Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); // which does not wait for the other end of a pipe
  const int file = opened.get();
  if (file < 0)
    return fileFailure("read", path, errno);
  auto refuse = [&](const std::string &why) { return Status(Code::BadInput, "cannot read '" + path + "': " + why); };
  struct stat info;
  if (::fstat(file, &info) != 0)
    return refuse(std::strerror(errno));
  bool pipe = S_ISFIFO(info.st_mode);
  if (!pipe && !S_ISREG(info.st_mode))
    return refuse(S_ISDIR(info.st_mode) ? std::strerror(EISDIR) : "it is not a regular file");
  ::fcntl(file, F_SETFL, 0); // waits for what a pipe's writer has still to say
  uint64_t size = pipe ? largest : static_cast<uint64_t>(info.st_size);
  if (size > largest)
    return refuse("it has " + std::to_string(size) + " bytes, at most " + std::to_string(largest) + " are read");
  std::vector<uint8_t> bytes, block(1 << 20);
  if (!pipe)
    bytes.reserve(static_cast<size_t>(size));
  while (pipe || bytes.size() < size) {
    ssize_t got = ::read(file, block.data(), pipe ? block.size() : std::min<uint64_t>(block.size(), size - bytes.size()));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return refuse(std::strerror(errno));
    if (got == 0 && !pipe)
      return refuse("it ends at byte " + std::to_string(bytes.size()) + ", but had " + std::to_string(size) +
                    " bytes when it was opened: it was truncated in the meantime");
    if (got == 0)
      break;
    bytes.insert(bytes.end(), block.begin(), block.begin() + got);
    if (bytes.size() > largest)
      return refuse("it has more than the " + std::to_string(largest) + " bytes that npar reads");
  }
  return bytes;
}

} // namespace npar::files
