// A file that grows while a run goes on and replaces an older one only when it is complete.
#pragma once

#include "engine/program/Status.h"

#include <string>

namespace npar::driver {

/// Names PATH.partial for writing; commit() renames it to PATH. Without commit (a failed run) PATH is untouched and PATH.partial stays for
/// a look. A device or pipe is written directly.
class PendingFile {
public:
  explicit PendingFile(std::string path);
  const std::string &writtenPath() const { return written; }
  engine::Status commit() const;

private:
  std::string path, written;
};

/// Whether a file could be written at `path`: asked before a long run whose last act it is.
engine::Status checkWritable(const std::string &path);

} // namespace npar::driver
