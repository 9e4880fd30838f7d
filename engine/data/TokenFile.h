// Tokens from a file: bytes of text, or little-endian 16- or 32-bit numbers, without loading the file.
#pragma once

#include "engine/program/Status.h"

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
  TokenFile(const TokenFile &) = delete;
  ~TokenFile();
  int64_t size() const { return count; }
  int32_t at(int64_t index) const;

private:
  TokenFile(const uint8_t *bytes, size_t length, int64_t count, TokenFormat format)
      : bytes(bytes), length(length), count(count), format(format) {}
  const uint8_t *bytes;
  size_t length;
  int64_t count;
  TokenFormat format;
};

} // namespace npar::engine
