// A folder that is held by a descriptor, for code that removes or renames its entries: no link can redirect it.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::files {

/// All operations act on the folder that was opened, even if its name has since been redirected. Names are those of its own entries,
/// without a slash, and links among them are never followed. Movable.
class OpenFolder {
public:
  enum class Kind { None, File, Folder, Link, Other };

  /// `path` is the caller's and may lead through links.
  static engine::Result<OpenFolder> open(const std::string &path);
  OpenFolder(OpenFolder &&other) noexcept;
  OpenFolder &operator=(OpenFolder &&other) noexcept;
  ~OpenFolder();

  /// Opens a folder in this one; a link to a folder is an error.
  engine::Result<OpenFolder> inside(const std::string &name) const;
  Kind kindOf(const std::string &name) const;
  /// The names of its entries, ascending, without `.` and `..`.
  engine::Result<std::vector<std::string>> names() const;
  /// Reads a whole regular file; one of more than `most` bytes is an error.
  engine::Result<std::string> read(const std::string &name, uint64_t most) const;

  /// Writes a file with this text as a whole, synced, replacing an existing file; another kind of entry of that name is an error and stays.
  engine::Status replace(const std::string &name, const std::string &text) const;

  /// Removes a file or a link, if it exists; a folder is an error.
  engine::Status removeFile(const std::string &name) const;
  /// Removes a folder, if it exists; it must be empty.
  engine::Status removeEmptyFolder(const std::string &name) const;
  /// Renames within this folder. If the new name exists, it must be an empty folder.
  engine::Status rename(const std::string &from, const std::string &to) const;
  /// Syncs all changes of its entries to the disk.
  engine::Status sync() const;

private:
  explicit OpenFolder(std::string path) : path(std::move(path)) {}
  engine::Status failure(const std::string &what, const std::string &name, int error) const;
  std::string path;
  int file = -1;
};

} // namespace npar::files
