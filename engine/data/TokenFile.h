// Tokens from a file: bytes of text, or little-endian 16- or 32-bit numbers, without loading the file.
#pragma once

#include "engine/program/MappedFile.h"

#include <cstdint>
#include <memory>
#include <string>

namespace npar::engine {

enum class TokenFormat { Bytes, U16, I32 };

/// "bytes", "u16" or "i32"; anything else is refused with the list.
Result<TokenFormat> tokenFormat(const std::string &name);

/// A memory-mapped file. Thread-safe to read.
class TokenFile {
public:
  /// Refuses a missing, unreadable or special file, a size that is no whole number of tokens, and a token outside [0, vocab),
  /// which it names with its position.
  static Result<std::shared_ptr<TokenFile>> open(const std::string &path, TokenFormat format, int64_t vocab);
  int64_t size() const { return count; }
  int32_t at(int64_t index) const;

private:
  TokenFile(program::MappedFile file, int64_t count, TokenFormat format) : file(std::move(file)), count(count), format(format) {}
  program::MappedFile file;
  int64_t count;
  TokenFormat format;
};

} // namespace npar::engine
