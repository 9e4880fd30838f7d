// One JSON object per training step, a line each, for tools that follow a run.
#include "engine/logging/StepLog.h"

#include "engine/logging/Json.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>

namespace npar::engine {

std::string stepLine(const StepRecord &record) {
  return "{\"step\":" + std::to_string(record.step) + ",\"loss\":" + jsonNumber(record.loss) +
         ",\"grad_norm\":" + jsonNumber(record.gradNorm) + ",\"lr\":" + jsonNumber(record.learningRate) + ",\"" + record.unit +
         "\":" + std::to_string(record.amount) + ",\"" + record.unit + "_per_second\":" + jsonNumber(record.perSecond) +
         (record.lossScale == 0 ? "" : ",\"loss_scale\":" + jsonNumber(record.lossScale)) +
         (record.lossScale == 0 && !record.skipped ? "" : std::string(",\"skipped\":") + (record.skipped ? "true" : "false")) +
         (record.validTokens ? ",\"valid_tokens\":" + std::to_string(*record.validTokens) : "") +
         (record.epoch ? ",\"epoch\":" + std::to_string(*record.epoch) + ",\"sample\":" + std::to_string(record.sample) : "") +
         (record.batchHash.empty() ? "" : ",\"batch_hash\":" + jsonString(record.batchHash)) + "}";
}

Result<std::unique_ptr<StepLog>> StepLog::open(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "we");
  if (!file)
    return Status::badInput("cannot write the log '" + path + "': " + std::strerror(errno));
  return std::unique_ptr<StepLog>(new StepLog(file, path));
}

Result<std::unique_ptr<StepLog>> StepLog::open(int descriptor, const std::string &path) {
  int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  std::FILE *file = own < 0 ? nullptr : ::fdopen(own, "w");
  if (!file)
    return Status::badInput("cannot write the log '" + path + "': " + std::strerror(errno));
  return std::unique_ptr<StepLog>(new StepLog(file, path));
}

StepLog::~StepLog() { (void)close(); }

Status StepLog::append(const StepRecord &record) {
  std::string line = stepLine(record) + "\n";
  if (!file || std::fwrite(line.data(), 1, line.size(), file) != line.size() || std::fflush(file) != 0)
    return Status::badInput("cannot write the log '" + path + "': " + std::strerror(file ? errno : EBADF));
  return {};
}

Status StepLog::close() {
  if (!file)
    return {};
  int failed = std::fclose(file);
  file = nullptr;
  return failed ? Status::badInput("cannot write the log '" + path + "': " + std::strerror(errno)) : Status();
}

} // namespace npar::engine
