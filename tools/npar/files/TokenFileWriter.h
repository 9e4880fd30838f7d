// Writes a file of token numbers for `npar train --tokens u16|i32`, which appears under its name only when complete.
#pragma once

#include "engine/data/TokenFile.h"
#include "engine/files/OutputFile.h"

#include <vector>

namespace npar::driver {

class TokenFileWriter {
public:
  /// The format by the name's ending, .u16 or .i32. The message for other endings names `flag`.
  static engine::Result<engine::TokenFormat> formatOf(const std::string &path, const std::string &flag);
  static engine::Result<TokenFileWriter> create(const std::string &path);

  /// Refuses an id that the format cannot hold, with its position.
  engine::Status write(const std::vector<int32_t> &ids);
  engine::Status commit();

private:
  TokenFileWriter(program::OutputFile file, engine::TokenFormat format) : file(std::move(file)), format(format) {}
  program::OutputFile file;
  engine::TokenFormat format;
  uint64_t count = 0, bytes = 0;
};

} // namespace npar::driver
