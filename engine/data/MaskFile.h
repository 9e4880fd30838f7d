// Which tokens of a token file are targets: a file with one byte per token.
#pragma once

#include "engine/files/MappedFile.h"

#include <cstdint>
#include <memory>
#include <string>

namespace npar::engine {

/// A memory-mapped file of bytes 0 (not a target) and 1 (a target). Thread-safe to read.
class MaskFile {
public:
  /// Refuses a missing, unreadable or special file, a size that is not `tokens` bytes, and another byte than 0 and 1, which it names with
  /// its position.
  static Result<std::shared_ptr<MaskFile>> open(const std::string &path, int64_t tokens);
  bool isTarget(int64_t token) const { return file.data()[token] != 0; }

private:
  explicit MaskFile(program::MappedFile file) : file(std::move(file)) {}
  program::MappedFile file;
};

} // namespace npar::engine
