// Tokens from a file: bytes of text, or little-endian 16- or 32-bit numbers, without loading the file.
#pragma once

#include "engine/files/RangeFile.h"
#include "engine/program/Enums_generated.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace npar::engine {

/// Formats of streams: all except Tensors.
using TokenFormat = program::DataFormat;

/// "bytes", "u16" or "i32"; anything else is refused with the list.
Result<TokenFormat> tokenFormat(const std::string &name);

/// A file that is read by ranges. What is appended after it was opened does not count. Thread-safe to read.
class TokenFile {
public:
  /// Refuses a missing, unreadable or special file and a size that is no whole number of tokens.
  static Result<std::shared_ptr<TokenFile>> open(const std::string &path, TokenFormat format);
  int64_t size() const { return count; }
  /// Copies tokens [first, first + number). An error, which names the file, where it was cut or fails to be read since it was opened.
  Status read(int64_t first, int64_t number, int32_t *tokens) const;
  TokenFormat format() const { return kind; }
  /// The least and the largest value that the format can hold.
  int32_t least() const { return kind == TokenFormat::I32 ? INT32_MIN : 0; }
  int32_t largest() const { return kind == TokenFormat::Bytes ? UINT8_MAX : kind == TokenFormat::U16 ? UINT16_MAX : INT32_MAX; }

private:
  TokenFile(files::RangeFile file, int64_t count, TokenFormat format) : file(std::move(file)), count(count), kind(format) {}
  files::RangeFile file;
  int64_t count;
  TokenFormat kind;
};

/// Number of tokens that a scan of a whole file reads at once.
inline constexpr int64_t tokenBlock = int64_t{1} << 16;

/// Calls `use(first, tokens)` with block after block of the tokens [begin, end), until it returns another status than good.
template <typename Use> Status forTokenBlocks(const TokenFile &file, int64_t begin, int64_t end, Use use) {
  std::vector<int32_t> tokens;
  for (int64_t first = begin; first < end; first += tokenBlock) {
    tokens.resize(static_cast<size_t>(std::min(tokenBlock, end - first)));
    if (Status status = file.read(first, static_cast<int64_t>(tokens.size()), tokens.data()); !status.ok())
      return status;
    if (Status status = use(first, static_cast<const std::vector<int32_t> &>(tokens)); !status.ok())
      return status;
  }
  return {};
}

} // namespace npar::engine
