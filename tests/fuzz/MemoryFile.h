// A file of the given bytes in memory that has a path, for readers that open files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace npar::fuzz {

class MemoryFile {
public:
  MemoryFile(const uint8_t *bytes, size_t size) : file(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (file < 0 || ::write(file, bytes, size) != static_cast<ssize_t>(size))
      std::abort();
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile() { ::close(file); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file); }

private:
  int file;
};

} // namespace npar::fuzz
