// Writes a ZIP archive of uncompressed files, in order and in pieces, never whole in memory.
#pragma once

#include "engine/files/OutputFile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

/// An archive that appears under its name, synced, when `commit` has written its directory (OutputFile). Files are stored uncompressed, in
/// the form for sizes beyond 4 GiB (ZIP64) whatever their size, and their bytes begin at multiples of `alignment`, so that readers can map
/// them. Checksums follow the bytes, so the archive can also be a pipe.
class ZipWriter {
public:
  static constexpr uint64_t alignment = 64; ///< in bytes, as in PyTorch's files

  static Result<ZipWriter> create(const std::string &path);
  /// Begins a file of this name, which is ASCII, and size. The file before it must have all of its bytes.
  Status begin(const std::string &name, uint64_t size);
  /// Appends bytes to the current file.
  Status append(const void *bytes, size_t size);
  /// Ends the current file.
  Status end();
  /// A whole file at once.
  Status add(const std::string &name, const std::string &content);
  /// Writes the directory and puts the archive in place.
  Status commit();

  /// Bytes that the current file lacks.
  uint64_t missing() const { return entries.empty() || !open ? 0 : entries.back().size - done; }
  const std::string &name() const { return file.name(); }

private:
  struct Entry {
    std::string name;
    uint64_t size = 0, place = 0; ///< place of its header
    uint32_t checksum = 0;
  };
  explicit ZipWriter(files::OutputFile file) : file(std::move(file)) {}
  Status put(const std::string &bytes);

  files::OutputFile file;
  std::vector<Entry> entries;
  uint64_t at = 0;   ///< bytes of the archive so far
  uint64_t done = 0; ///< bytes of the current file so far
  bool open = false; ///< a file has begun and not ended
};

} // namespace npar::engine
