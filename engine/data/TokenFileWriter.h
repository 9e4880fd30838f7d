// Writes a file of token numbers for `npar train --tokens u16|i32`, which appears under its name only when complete.
#pragma once

#include "engine/data/TokenFile.h"
#include "engine/files/OutputFile.h"

#include <vector>

namespace npar::engine {

class TokenFileWriter {
public:
  /// The format by the name's ending, .u16 or .i32. The message for other endings names `flag`.
  static Result<TokenFormat> formatOf(const std::string &path, const std::string &flag);
  static Result<TokenFileWriter> create(const std::string &path);

  /// Refuses an id that the format cannot hold, with its position.
  Status write(const std::vector<int32_t> &ids);
  Status commit();

private:
  TokenFileWriter(files::OutputFile file, TokenFormat format) : file(std::move(file)), format(format) {}
  files::OutputFile file;
  TokenFormat format;
  uint64_t count = 0, bytes = 0;
};

} // namespace npar::engine
