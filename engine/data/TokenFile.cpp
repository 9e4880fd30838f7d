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
  return Status::badInput("unknown token format '" + name + "': use bytes, u16 or i32");
}

Status TokenFile::read(int64_t first, int64_t number, int32_t *tokens) const {
  size_t each = bytesOf(kind), size = static_cast<size_t>(number) * each;
  std::unique_ptr<uint8_t[]> bytes(new uint8_t[size]);
  if (Status status = file.read(static_cast<uint64_t>(first) * each, size, bytes.get()); !status.ok())
    return status;
  const uint8_t *p = bytes.get();
  switch (kind) {
  case TokenFormat::Bytes:
    std::copy_n(p, number, tokens);
    break;
  case TokenFormat::U16:
    for (int64_t i = 0; i < number; ++i, p += 2)
      tokens[i] = p[0] | p[1] << 8;
    break;
  case TokenFormat::I32:
  case TokenFormat::Tensors:
  case TokenFormat::Idx:
  case TokenFormat::Images:
  case TokenFormat::Csv:
  case TokenFormat::Tsv:
  case TokenFormat::JsonLines:
  case TokenFormat::Lines:
    for (int64_t i = 0; i < number; ++i, p += 4)
      tokens[i] = static_cast<int32_t>(uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24);
    break;
  }
  return {};
}

Result<std::shared_ptr<TokenFile>> TokenFile::open(const std::string &path, TokenFormat format) {
  auto failure = [&](const std::string &why) { return Status::badInput("cannot read data '" + path + "': " + why); };
  Result<files::RangeFile> file = files::RangeFile::open(path, "data");
  if (!file.ok())
    return file.status();
  uint64_t length = file->size(), each = bytesOf(format);
  std::shared_ptr<TokenFile> tokens(new TokenFile(std::move(*file), static_cast<int64_t>(length / each), format));
  if (length % each)
    return failure("its " + std::to_string(length) + " bytes are not a whole number of " + std::to_string(each) + "-byte tokens");
  return tokens;
}

} // namespace npar::engine
