// Fingerprints of files, by which processes find out that they read the same file without sending it.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::files {

/// Selects the bytes of a file that its fingerprint covers.
enum class FingerprintKind : uint8_t {
  Sampled, ///< its length, its first and last 64 KiB, and 64 blocks of 4 KiB that a seed chooses
  Full     ///< every byte
};

/// Hashes (XXH3-128, 32 hex digits) of parts of a file. Equal files have equal fingerprints of one seed and kind. `Sampled` finds another
/// file, another version and a cut or an appended copy; it may miss a change of single bytes in a file of more than 384 KiB.
struct Fingerprint {
  uint64_t bytes = 0; ///< length of the file
  struct Part {
    std::string what; ///< such as "first 65536 bytes"
    std::string hash;
  };
  std::vector<Part> parts; ///< the same number and order for every file
};

/// The file is read by ranges, about half a MiB of it unless all of it is asked for. Of a folder, the fingerprint covers the names of the
/// files in its sub-folders and the contents of 64 of these files, or of all of them. The error names the file.
engine::Result<Fingerprint> fingerprintOf(const std::string &path, FingerprintKind kind, uint64_t seed);

} // namespace npar::files
