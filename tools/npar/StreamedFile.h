// A text file that grows while a run goes on and replaces an older one only when it is complete.
#pragma once

#include "engine/program/Status.h"

#include <cstdio>
#include <memory>
#include <string>

namespace npar::driver {

/// Lines go to PATH.partial, flushed one by one so that a running training can be watched; finish() renames it to PATH.
/// Without finish() (a failed run) PATH is untouched and PATH.partial stays for a look. A device or pipe is written directly.
class StreamedFile {
public:
  static engine::Result<std::unique_ptr<StreamedFile>> open(const std::string &path);
  ~StreamedFile();
  StreamedFile(const StreamedFile &) = delete;
  StreamedFile &operator=(const StreamedFile &) = delete;
  engine::Status writeLine(const std::string &line);
  engine::Status finish();

private:
  StreamedFile() = default;
  std::string path, writtenPath; ///< the same for devices
  std::FILE *file = nullptr;
};

/// Whether a file could be written at `path`, asked before a long run whose last act it is.
engine::Status checkWritable(const std::string &path);

} // namespace npar::driver
