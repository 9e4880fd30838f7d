// A regular file that is read by ranges, without a mapping.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace npar::files {

/// Every read is a copy by pread. If a file shrinks or a disk fails meanwhile, that read returns an error, where a mapping would end the
/// process (SIGBUS); and pages of the file do not count as this process's memory. Several threads may read at once. Movable.
class RangeFile {
public:
  /// `what` words errors: "cannot read WHAT 'PATH': ...". Directories, pipes and devices are refused.
  static engine::Result<RangeFile> open(const std::string &path, const std::string &what);
  RangeFile(RangeFile &&other) noexcept;
  RangeFile &operator=(RangeFile &&other) noexcept;
  ~RangeFile();

  /// Reads the whole range or returns an error; the range must be within size().
  engine::Status read(uint64_t offset, size_t size, void *bytes) const;
  uint64_t size() const { return length; } ///< size when it was opened
  /// "WHAT 'PATH'".
  const std::string &description() const { return text; }

private:
  RangeFile() = default;
  int file = -1;
  uint64_t length = 0;
  std::string text;
};

} // namespace npar::files
