// Writes beside the wanted path, renames at the end.
#include "tools/npar/PendingFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace npar::driver {

using engine::Status;

namespace {

namespace fs = std::filesystem;

bool isDevice(const std::string &path) {
  std::error_code ignored;
  fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

Status failure(const std::string &path, int error) { return Status::badInput("cannot write '" + path + "': " + std::strerror(error)); }

} // namespace

PendingFile::PendingFile(std::string path) : path(std::move(path)), written(isDevice(this->path) ? this->path : this->path + ".partial") {}

Status PendingFile::commit() const {
  if (path != written && std::rename(written.c_str(), path.c_str()) != 0)
    return failure(path, errno);
  return {};
}

Status checkWritable(const std::string &path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return failure(path, EISDIR);
  if (isDevice(path))
    return {};
  std::string probe = PendingFile(path).writtenPath();
  bool there = fs::exists(probe, ignored);
  std::FILE *file = std::fopen(probe.c_str(), "a");
  if (!file)
    return failure(path, errno);
  std::fclose(file);
  if (!there)
    fs::remove(probe, ignored);
  return {};
}

} // namespace npar::driver
