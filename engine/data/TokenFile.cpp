// Tokens from a file: bytes of text, or little-endian 16- or 32-bit numbers, without loading the file.
#include "engine/data/TokenFile.h"

namespace npar::engine {

namespace {
size_t bytesOf(TokenFormat format) { return format == TokenFormat::Bytes ? 1 : format == TokenFormat::U16 ? 2 : 4; }
} // namespace

Result<TokenFormat> tokenFormat(const std::string &name) {
  if (name == "bytes")
    return TokenFormat::Bytes;
  if (name == "u16")
    return TokenFormat::U16;
  if (name == "i32")
    return TokenFormat::I32;
  return Status::badInput("unknown token format '" + name + "': bytes, u16 and i32 exist");
}

int32_t TokenFile::at(int64_t index) const {
  const uint8_t *p = file.data() + static_cast<size_t>(index) * bytesOf(kind);
  switch (kind) {
  case TokenFormat::Bytes:
    return *p;
  case TokenFormat::U16:
    return p[0] | p[1] << 8;
  case TokenFormat::I32:
  case TokenFormat::Tensors:
    break;
  }
  return static_cast<int32_t>(uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24);
}

Result<std::shared_ptr<TokenFile>> TokenFile::open(const std::string &path, TokenFormat format) {
  auto failure = [&](const std::string &why) { return Status::badInput("cannot read data '" + path + "': " + why); };
  Result<program::MappedFile> mapped = program::MappedFile::open(path, "data");
  if (!mapped.ok())
    return mapped.status();
  size_t length = mapped->size(), each = bytesOf(format);
  std::shared_ptr<TokenFile> tokens(new TokenFile(std::move(*mapped), static_cast<int64_t>(length / each), format));
  if (length % each)
    return failure("its " + std::to_string(length) + " bytes are no whole number of " + std::to_string(each) + "-byte tokens");
  return tokens;
}

} // namespace npar::engine
