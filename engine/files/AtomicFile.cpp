// Whole files through POSIX calls, because only they report what a stream hides: a directory instead of a file, a disk that fails.
#include "engine/files/AtomicFile.h"

#include "engine/files/OutputFile.h"

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

} // namespace

Status writeFileAtomically(const std::string &path, const void *data, size_t size) {
  Result<OutputFile> output = OutputFile::create(path);
  if (!output.ok())
    return output.status();
  Status status = output->write(0, data, size);
  return status.ok() ? output->commit() : status;
}

Result<std::vector<uint8_t>> readFile(const std::string &path, uint64_t most) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return failure("read", path, errno);
  std::vector<uint8_t> bytes;
  struct stat status;
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode))
    bytes.reserve(std::min(static_cast<uint64_t>(status.st_size), most));
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
    if (static_cast<uint64_t>(got) > most - bytes.size()) {
      ::close(file);
      return Status(Code::BadInput,
                    "cannot read '" + path + "': it has more than " + std::to_string(most) + " bytes, the most that are read");
    }
    bytes.insert(bytes.end(), block.begin(), block.begin() + got);
  }
  ::close(file);
  return bytes;
}

} // namespace npar::program
