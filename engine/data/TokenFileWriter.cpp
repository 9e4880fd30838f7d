// Little-endian numbers, whatever the machine.
#include "engine/data/TokenFileWriter.h"

#include "engine/files/Ending.h"

#include <algorithm>

namespace npar::engine {

Result<TokenFormat> TokenFileWriter::formatOf(const std::string &path, const std::string &flag) {
  if (files::endsWith(path, ".u16"))
    return TokenFormat::U16;
  if (files::endsWith(path, ".i32"))
    return TokenFormat::I32;
  return Status::badInput(flag + " '" + path + "' must end in .u16 (tokens below 65,536) or .i32: the suffix sets the number format");
}

Result<TokenFileWriter> TokenFileWriter::create(const std::string &path) {
  Result<TokenFormat> format = formatOf(path, "the output");
  if (!format.ok())
    return format.status();
  Result<files::OutputFile> file = files::OutputFile::create(path);
  if (!file.ok())
    return file.status();
  return TokenFileWriter(std::move(*file), *format);
}

Status TokenFileWriter::write(const std::vector<int32_t> &ids) {
  constexpr int32_t largest = UINT16_MAX;
  size_t each = format == TokenFormat::U16 ? 2 : 4;
  std::string block;
  block.reserve(ids.size() * each);
  for (int32_t id : ids) {
    if (format == TokenFormat::U16 && id > largest)
      return Status::badInput("token " + std::to_string(id) + ", number " + std::to_string(count) +
                              " (from 0), does not fit into 16 bits: give --output a name that ends in .i32");
    for (size_t i = 0; i < each; ++i)
      block += static_cast<char>(static_cast<uint32_t>(id) >> (8 * i));
    ++count;
  }
  Status status = file.write(bytes, block.data(), block.size());
  bytes += block.size();
  return status;
}

Status TokenFileWriter::commit() { return file.commit(); }

} // namespace npar::engine
