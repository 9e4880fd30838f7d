// The logs of a run: any number of files, each in the format that follows from its name.
#pragma once

#include "engine/files/PendingFile.h"
#include "engine/logging/StepLog.h"

#include <memory>
#include <string>
#include <vector>

namespace npar::training {

class RunLogs {
public:
  static constexpr size_t most = 8; ///< files

  /// A folder means a file in it that TensorBoard finds. A folder given with a trailing slash is created if it is missing.
  explicit RunLogs(const std::vector<std::string> &paths);

  /// A file that will be written: its name for messages, its path and the endings of its format; none: any.
  struct Output {
    std::string what, path;
    std::vector<std::string> endings;
  };
  std::vector<Output> outputs() const;
  /// Opens and locks all files; call it before long work. `observer` hears what it waits for.
  engine::Status claim(engine::Observer &observer);
  /// The files that claim() created and that are still empty.
  std::vector<std::string> fresh() const;
  /// Makes this process write nothing: later records are dropped.
  void leave() { logs.clear(), folders.clear(); }

  /// Empties the files, except for the rows of steps before `firstStep`. A file with such rows that it could not keep is an error.
  engine::Status begin(const engine::LogShape &shape, int64_t firstStep);
  /// Appends a record to all files. `Record`: a type of record that engine::StepLog takes.
  template <typename Record> engine::Status append(const Record &record) {
    for (Log &log : logs)
      if (engine::Status status = log.rows->append(record); !status.ok())
        return status;
    return {};
  }
  /// Renames the files to their final names.
  engine::Status commit();

private:
  struct Log {
    std::string path;
    std::unique_ptr<files::PendingFile> file;
    std::unique_ptr<engine::StepLog> rows;
  };
  std::vector<Log> logs;
  std::vector<std::string> folders; ///< folders given with a trailing slash
};

} // namespace npar::training
