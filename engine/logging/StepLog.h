// The file to which a run logs, in one of the formats of LogFormat.h.
#pragma once

#include "engine/logging/LogFormat.h"
#include "engine/status/Status.h"

#include <cstdio>
#include <memory>

namespace npar::engine {

/// Writes row by row and flushes each, so that the file can be followed and survives a crash. A file that cannot be written is wrong input.
class StepLog {
public:
  /// Logs to an open file, which remains the caller's. `path` is its name in messages and determines the format. Rows are appended to
  /// existing ones.
  static Result<std::unique_ptr<StepLog>> open(int descriptor, const std::string &path, LogShape shape = {});
  static Result<std::unique_ptr<StepLog>> open(const std::string &path, LogShape shape = {});
  ~StepLog();
  StepLog(const StepLog &) = delete;
  Status append(const StepRecord &record) { return write(format.row(shape, record)); }
  Status append(const EvaluationRecord &record) { return write(format.row(shape, record)); }
  Status append(const EpochRecord &record) { return write(format.row(shape, record)); }
  Status append(const FailedSaveRecord &record) { return write(format.row(shape, record)); }
  Status close();

private:
  StepLog(std::FILE *file, std::string path, LogShape shape)
      : file(file), path(std::move(path)), shape(std::move(shape)), format(logFormatOf(this->path)) {}
  Status write(const std::string &bytes);

  std::FILE *file;
  std::string path;
  LogShape shape;
  const LogFormat &format;
  bool begun = false;
};

} // namespace npar::engine
