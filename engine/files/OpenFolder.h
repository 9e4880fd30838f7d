// A folder that is held by a descriptor, for code that removes or renames its entries: no link can redirect it.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::program {

/// What is done in it is done in the folder that was opened, wherever its name leads meanwhile. Names are those of its own entries, without
/// a slash, and links among them are never followed. Movable.
class OpenFolder {
public:
  enum class Kind { None, File, Folder, Link, Other };

  /// `path` is the caller's and may lead through links.
  static engine::Result<OpenFolder> open(const std::string &path);
  OpenFolder(OpenFolder &&other) noexcept;
  OpenFolder &operator=(OpenFolder &&other) noexcept;
  ~OpenFolder();

  /// Opens a folder in it; a link to one is an error.
  engine::Result<OpenFolder> inside(const std::string &name) const;
  Kind kindOf(const std::string &name) const;
  /// Ascending, without `.` and `..`.
  engine::Result<std::vector<std::string>> names() const;
  /// A whole regular file; one of more than `most` bytes is an error.
  engine::Result<std::string> read(const std::string &name, uint64_t most) const;

  /// Puts a whole file of this text in place, synced, of an old one or of nothing; anything else of that name is an error and stays.
  engine::Status replace(const std::string &name, const std::string &text) const;

  /// Removes a file or a link; one that is not there is good, a folder is an error.
  engine::Status removeFile(const std::string &name) const;
  /// Removes a folder, which must be empty; one that is not there is good.
  engine::Status removeEmptyFolder(const std::string &name) const;
  /// Renames within this folder. An entry that has the new name already is an error, unless it is an empty folder.
  engine::Status rename(const std::string &from, const std::string &to) const;
  /// Brings all changes of its entries to the disk.
  engine::Status sync() const;

private:
  OpenFolder(std::string path, int file) : path(std::move(path)), file(file) {}
  engine::Status failure(const std::string &what, const std::string &name, int error) const;
  std::string path;
  int file = -1;
};

} // namespace npar::program
