// Opens, continues and renames the log files of a run.
#include "engine/training/RunLogs.h"

#include "engine/files/Folders.h"

#include <filesystem>

namespace npar::training {

using engine::Result;
using engine::Status;

namespace {

/// TensorBoard looks for files with "tfevents" in their names, in folders.
std::string fileOf(const std::string &path) {
  std::error_code error;
  bool folder = path.back() == '/' || std::filesystem::is_directory(path, error);
  return folder ? path + (path.back() == '/' ? "" : "/") + "events.out.tfevents.npar" : path;
}

Status cannotContinue(const std::string &path, const std::string &why) {
  return Status::badInput("the log '" + path + "' cannot be continued: " + why +
                          "\nnpar: help: resume with --log and another file, or move this one away");
}

} // namespace

RunLogs::RunLogs(const std::vector<std::string> &paths) {
  for (const std::string &path : paths)
    if (path.back() == '/')
      folders.push_back(path);
  for (const std::string &path : paths)
    logs.push_back({fileOf(path), std::make_unique<files::PendingFile>(fileOf(path)), nullptr});
}

std::vector<RunLogs::Output> RunLogs::outputs() const {
  std::vector<Output> files;
  for (const Log &log : logs) {
    files.push_back({"--log", log.path, {".jsonl", ".json", ".csv"}});
    if (log.file->growing() != log.path) {
      files.push_back({"the growing --log", log.file->growing(), {}});
      files.push_back({"the lock of the growing --log", log.file->growing() + ".lock", {}});
    }
  }
  return files;
}

Status RunLogs::claim(engine::Observer &observer) {
  for (const std::string &folder : folders)
    if (Status status = files::makeFolder(folder); !status.ok())
      return status;
  for (Log &log : logs)
    if (Status status = log.file->claim(observer); !status.ok())
      return status;
  return {};
}

std::vector<std::string> RunLogs::fresh() const {
  std::vector<std::string> paths;
  for (const Log &log : logs)
    for (std::string &path : log.file->abandoned())
      paths.push_back(std::move(path));
  return paths;
}

Status RunLogs::begin(const engine::LogShape &shape, int64_t firstStep) {
  for (Log &log : logs) {
    auto before = [&](const std::string &path, const std::string &text) -> Result<size_t> {
      const engine::KeptRows kept = engine::logFormatOf(log.path).rowsBefore(text, shape, firstStep);
      return kept.fault.empty() ? Result<size_t>(kept.bytes) : cannotContinue(path, kept.fault);
    };
    Result<int> descriptor = firstStep > 0 ? log.file->begin(before) : log.file->begin();
    if (!descriptor.ok())
      return descriptor.status();
    Result<std::unique_ptr<engine::StepLog>> rows = engine::StepLog::open(*descriptor, log.path, shape);
    if (!rows.ok())
      return rows.status();
    log.rows = std::move(*rows);
  }
  return {};
}

Status RunLogs::commit() {
  for (Log &log : logs) {
    if (Status status = log.rows->close(); !status.ok())
      return status;
    if (Status status = log.file->commit(); !status.ok())
      return status;
  }
  return {};
}

} // namespace npar::training
