// Reads the targets of a token file from a file with one byte per token.
#pragma once

#include "engine/files/RangeFile.h"

#include <cstdint>
#include <memory>
#include <string>

namespace npar::engine {

/// A file of bytes 0 (not a target) and 1 (a target) that is read by ranges. Thread-safe to read.
class MaskFile {
public:
  /// Refuses a missing, unreadable or special file, a size other than `tokens` bytes, and a byte other than 0 and 1, whose position it
  /// names.
  static Result<std::shared_ptr<MaskFile>> open(const std::string &path, int64_t tokens);
  /// Copies the bytes of tokens [first, first + number). Errors are those of TokenFile::read, and a byte that has since become neither 0
  /// nor 1.
  Status read(int64_t first, int64_t number, uint8_t *targets) const;

private:
  explicit MaskFile(files::RangeFile file) : file(std::move(file)) {}
  files::RangeFile file;
};

} // namespace npar::engine
