// An output that is written in pieces and appears whole or not at all.
#pragma once

#include "engine/files/Destination.h"
#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace npar::program {

/// Grows beside the file that `path` leads to (symbolic links are followed): commit() syncs it, renames it into place and syncs the
/// directory. Until then, and without a commit for ever, the old file is untouched; what was written goes with the object, where the file
/// system has files without a name also when the process is killed. A device, a pipe, and /dev/stdout whatever it is, are written to
/// directly, in order. Movable.
class OutputFile {
public:
  static engine::Result<OutputFile> create(const std::string &path);
  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&other) noexcept;
  ~OutputFile();

  /// Puts bytes at a place of the file; places may come in any order, and from several threads at once, except where the output is
  /// written to directly: there each piece begins where the last one ended.
  engine::Status write(uint64_t offset, const void *data, size_t size);
  /// Nothing may be written after it.
  engine::Status commit();
  const std::string &name() const { return path; }
  /// Pieces must come in order.
  bool isDirect() const { return destination.direct; }

private:
  explicit OutputFile(const std::string &path) : path(path), destination(destinationOf(path)) {}
  int openBeside();
  int makeNamed();
  int giveName();
  int copyToNamed();
  engine::Status failure(int error) const;

  std::string path;
  Destination destination;
  int file = -1;
  std::string temporary; ///< its name while it is not in place; empty: it has none
  int64_t mode = -1;     ///< of the file in place; negative: there is none, and a new one has what the process's umask leaves
  uint64_t position = 0; ///< of an output that is written to directly
};

} // namespace npar::program
