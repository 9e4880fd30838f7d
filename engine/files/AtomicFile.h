// Whole files in, whole files out: a failed write leaves the old file as it was.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace npar::program {

/// Writes an OutputFile in one piece: on any failure (full disk included) the old file is untouched.
engine::Status writeFileAtomically(const std::string &path, const void *data, size_t size);

/// Reads a whole file of at most `most` bytes; a pipe is read to its end.
engine::Result<std::vector<uint8_t>> readFile(const std::string &path, uint64_t most = uint64_t{2} << 30);

} // namespace npar::program
