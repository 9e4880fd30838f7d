// Whole files in, whole files out: a failed write leaves the old file as it was.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace npar::program {

/// Writes to a temporary file beside the one that `path` leads to (symbolic links are followed), syncs it, renames it into place and syncs
/// the directory. On any failure (full disk included) the old file is untouched and the temporary one is gone; where the file system has
/// files without a name also when the process is killed. A device, a pipe, and /dev/stdout whatever it is, are written to directly.
engine::Status writeFileAtomically(const std::string &path, const void *data, size_t size);

/// Reads a whole regular file.
engine::Result<std::vector<uint8_t>> readFile(const std::string &path);

} // namespace npar::program
