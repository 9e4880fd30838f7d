// A folder that other users cannot have written to: files of a cache are trusted, machine code among them.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npar::files {

/// Open as long as the object lives, so that what its name leads to meanwhile does not matter. Movable. Thread-safe.
class PrivateFolder {
public:
  /// Opens `root`/`below`, or makes what is missing with mode 0700. Refuses one that another user owns (except root), or that others can
  /// write: Code::CheckFailed, where anything else that goes wrong is BadInput. It checks each folder from `root` on, and links below it
  /// are not followed. `below` may be empty.
  static engine::Result<PrivateFolder> open(const std::string &root, const std::string &below = "");
  /// The same for a folder that is there, without making anything; nothing if it is missing.
  static engine::Result<std::optional<PrivateFolder>> find(const std::string &root, const std::string &below = "");
  PrivateFolder(PrivateFolder &&other) noexcept;
  PrivateFolder &operator=(PrivateFolder &&other) noexcept;
  ~PrivateFolder();

  /// The content of a file; nothing if it is missing. Refuses a link and anything else that is no regular file, one that another user
  /// owns or that others can write, and one of more than `largest` bytes.
  engine::Result<std::optional<std::vector<uint8_t>>> read(const std::string &name, uint64_t largest) const;
  /// Whole or not at all, with mode 0600; takes the place of what has the name.
  engine::Status write(const std::string &name, const void *data, size_t size) const;
  const std::string &name() const { return path; }

private:
  PrivateFolder(std::string path, int folder) : path(std::move(path)), folder(folder) {}
  std::string path;
  int folder;
};

/// The folder that keeps what is slow to find out: $NPAR_CACHE itself, else `below` in $XDG_CACHE_HOME/npar or ~/.cache/npar.
struct CachePlace {
  std::string root, below; ///< root empty: there is no place
  bool asked = false;      ///< by NPAR_CACHE
  std::string path() const { return below.empty() ? root : root + "/" + below; }
};
CachePlace cachePlace(const std::string &below);

} // namespace npar::files
