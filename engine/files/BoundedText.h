// Reads whole files into memory, up to a size that the caller sets: an input may be huge or never end.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace npar::files {

/// Seconds that a pipe or a terminal may stay silent.
constexpr int longestSilence = 60;

/// Reads all of a regular file, a pipe or a device, at most `most` bytes. `what` words errors, which are BadInput: "cannot read WHAT
/// 'PATH': it has more than 1048576 bytes (1 MiB), the most that is read"; it may be empty. Directories and sockets are refused.
engine::Result<std::string> readBoundedText(const std::string &path, const std::string &what, uint64_t most);

/// The same as bytes.
engine::Result<std::vector<uint8_t>> readBoundedBytes(const std::string &path, const std::string &what, uint64_t most);

} // namespace npar::files
