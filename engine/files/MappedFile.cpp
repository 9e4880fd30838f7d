// Opens, checks and maps.
#include "engine/files/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace npar::program {

using engine::Result;
using engine::Status;

Result<MappedFile> MappedFile::open(const std::string &path, const std::string &what) {
  auto failure = [&](const std::string &why) { return Status::badInput("cannot read " + what + " '" + path + "': " + why); };
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return failure(std::strerror(errno));
  struct stat info;
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(file);
    return failure(S_ISDIR(info.st_mode) ? "it is a directory" : "it is no regular file");
  }
  size_t length = static_cast<size_t>(info.st_size);
  void *memory = length ? ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
  int why = errno;
  ::close(file);
  if (memory == MAP_FAILED)
    return failure(std::strerror(why));
  MappedFile result;
  result.bytes = static_cast<const uint8_t *>(memory);
  result.length = length;
  return result;
}

MappedFile::MappedFile(MappedFile &&other) noexcept : bytes(std::exchange(other.bytes, nullptr)), length(std::exchange(other.length, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(bytes, other.bytes);
  std::swap(length, other.length);
  return *this;
}

MappedFile::~MappedFile() {
  if (length)
    ::munmap(const_cast<uint8_t *>(bytes), length);
}

} // namespace npar::program
