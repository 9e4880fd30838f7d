// Tokens from a file: bytes of text, or little-endian 16- or 32-bit numbers, without loading the file.
#pragma once

#include "engine/files/MappedFile.h"
#include "engine/program/Enums_generated.h"

#include <cstdint>
#include <memory>
#include <string>

namespace npar::engine {

/// Those of streams: all but Tensors.
using TokenFormat = program::DataFormat;

/// "bytes", "u16" or "i32"; anything else is refused with the list.
Result<TokenFormat> tokenFormat(const std::string &name);

/// A memory-mapped file. Thread-safe to read.
class TokenFile {
public:
  /// Refuses a missing, unreadable or special file and a size that is no whole number of tokens.
  static Result<std::shared_ptr<TokenFile>> open(const std::string &path, TokenFormat format);
  int64_t size() const { return count; }
  int32_t at(int64_t index) const;
  TokenFormat format() const { return kind; }
  /// The least and the largest value that the format can hold.
  int32_t least() const { return kind == TokenFormat::I32 ? INT32_MIN : 0; }
  int32_t largest() const { return kind == TokenFormat::Bytes ? UINT8_MAX : kind == TokenFormat::U16 ? UINT16_MAX : INT32_MAX; }

private:
  TokenFile(program::MappedFile file, int64_t count, TokenFormat format) : file(std::move(file)), count(count), kind(format) {}
  program::MappedFile file;
  int64_t count;
  TokenFormat kind;
};

} // namespace npar::engine
