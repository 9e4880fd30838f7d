// A regular file in memory, read only: data and weights are used without loading them.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace npar::program {

/// Owns the mapping; movable. A file that shrinks while it is mapped ends the process, as with any mapping.
class MappedFile {
public:
  /// `what` words the error: "cannot read WHAT 'PATH': ...". Directories, pipes and devices are refused.
  static engine::Result<MappedFile> open(const std::string &path, const std::string &what);
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  const uint8_t *data() const { return bytes; } ///< null for an empty file
  size_t size() const { return length; }

private:
  const uint8_t *bytes = nullptr;
  size_t length = 0;
};

} // namespace npar::program
