// The logs of a run: any number of files, each in the format that its name says.
#pragma once

#include "engine/logging/StepLog.h"
#include "tools/npar/files/FileClaims.h"
#include "tools/npar/files/PendingFile.h"

#include <memory>
#include <string>
#include <vector>

namespace npar::driver {

class RunLogs {
public:
  static constexpr size_t most = 8; ///< files

  /// A folder stands for the file that TensorBoard finds in it. One that is named with a slash at the end is made where it is missing.
  explicit RunLogs(const std::vector<std::string> &paths);

  /// Names the files that will be written.
  void name(FileClaims &files) const;
  /// Opens and locks all of them, before anything long begins.
  engine::Status claim();
  /// Those that were made by claim() and hold nothing yet.
  std::vector<std::string> fresh() const;
  /// Leaves writing to others: what is appended then goes nowhere.
  void leave() { logs.clear(), folders.clear(); }

  /// Empties them; from a later step on goes on with the rows of those before it.
  engine::Status begin(const engine::LogShape &shape, int64_t firstStep);
  /// To all of them. `Record`: one of those of engine::StepLog.
  template <typename Record> engine::Status append(const Record &record) {
    for (Log &log : logs)
      if (engine::Status status = log.rows->append(record); !status.ok())
        return status;
    return {};
  }
  /// Gives the files their names.
  engine::Status commit();

private:
  struct Log {
    std::string path;
    std::unique_ptr<PendingFile> file;
    std::unique_ptr<engine::StepLog> rows;
  };
  std::vector<Log> logs;
  std::vector<std::string> folders; ///< that were named with a slash at the end
};

} // namespace npar::driver
