// An output that is written in pieces and appears whole or not at all.
#pragma once

#include "engine/files/Destination.h"
#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

namespace npar::files {

/// Grows in the folder of the file that `path` leads to (symbolic links are followed): commit() syncs it, renames it into place and syncs
/// the directory. Until then, or without a commit, the old file is untouched. An uncommitted file is removed with the object and, on file
/// systems that support unnamed files, also when the process is killed. A device, a pipe, and /dev/stdout of any kind are written to
/// directly, in order. Movable.
class OutputFile {
public:
  static engine::Result<OutputFile> create(const std::string &path);
  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&other) noexcept;
  ~OutputFile();

  /// Writes bytes at an offset of the file. Offsets may come in any order, and from several threads at once, except for a direct output, in
  /// which each piece begins where the last one ended.
  engine::Status write(uint64_t offset, const void *data, size_t size);
  /// Puts the file in place. Nothing may be written afterwards.
  engine::Status commit();
  const std::string &name() const { return path; }
  /// True if pieces must come in order.
  bool isDirect() const { return destination.direct; }

private:
  explicit OutputFile(const std::string &path) : path(path), destination(destinationOf(path)) {}
  int openBeside();
  int makeNamed();
  int giveName();
  int copyToNamed();
  int keepAttributes();
  engine::Status failure(int error) const;

  std::string path;
  Destination destination;
  int file = -1;
  std::string temporary; ///< name until it is in place; empty: it has none
  struct Attributes {
    uid_t user;
    gid_t group;
    mode_t mode;
  };
  std::optional<Attributes> old; ///< of the file in place; nothing: no such file, so a new one gets those of the process and its umask
  uint64_t position = 0;         ///< position in a direct output
};

} // namespace npar::files
