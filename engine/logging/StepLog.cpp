// Writes rows to the file; the format's head where nothing is in it yet.
#include "engine/logging/StepLog.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

namespace npar::engine {

static Status cannotWrite(const std::string &path, int error) {
  return Status::badInput("cannot write the log '" + path + "': " + std::strerror(error));
}

Result<std::unique_ptr<StepLog>> StepLog::open(const std::string &path, LogShape shape) {
  std::FILE *file = std::fopen(path.c_str(), "we");
  if (!file)
    return cannotWrite(path, errno);
  return std::unique_ptr<StepLog>(new StepLog(file, path, std::move(shape)));
}

Result<std::unique_ptr<StepLog>> StepLog::open(int descriptor, const std::string &path, LogShape shape) {
  int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  std::FILE *file = own < 0 ? nullptr : ::fdopen(own, "w");
  if (!file)
    return cannotWrite(path, errno);
  std::unique_ptr<StepLog> log(new StepLog(file, path, std::move(shape)));
  struct stat status;
  log->begun = ::fstat(own, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  return log;
}

StepLog::~StepLog() { (void)close(); }

Status StepLog::write(const std::string &row) {
  std::string bytes = begun ? row : format.head(shape) + row;
  begun = true;
  if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() || std::fflush(file) != 0)
    return cannotWrite(path, file ? errno : EBADF);
  return {};
}

Status StepLog::close() {
  if (!file)
    return {};
  int failed = std::fclose(file);
  file = nullptr;
  return failed ? cannotWrite(path, errno) : Status();
}

} // namespace npar::engine
