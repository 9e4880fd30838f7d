// Whole files in, whole files out: a failed write leaves the old file as it was.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace npar::files {

/// Writes an OutputFile in one piece: on any failure (full disk included) the old file is untouched.
engine::Status writeFileAtomically(const std::string &path, const void *data, size_t size);

/// Reads a whole file, or a pipe to its end; a pipe that no process has open for writing is empty. Refuses directories, devices, more than
/// `largest` bytes, and a file that something cuts while it is read; what is appended meanwhile does not count.
engine::Result<std::vector<uint8_t>> readFile(const std::string &path, uint64_t largest = uint64_t{4} << 30);

} // namespace npar::files
