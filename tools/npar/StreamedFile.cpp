// Writes beside the wanted path, renames at the end.
#include "tools/npar/StreamedFile.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace npar::driver {

using engine::Result;
using engine::Status;

namespace {

namespace fs = std::filesystem;

Status failure(const std::string &path) { return Status::badInput("cannot write '" + path + "': " + std::strerror(errno)); }

bool isDevice(const std::string &path) {
  std::error_code ignored;
  fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

} // namespace

Result<std::unique_ptr<StreamedFile>> StreamedFile::open(const std::string &path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return Status::badInput("cannot write '" + path + "': it is a folder");
  std::unique_ptr<StreamedFile> result(new StreamedFile);
  result->path = path;
  result->writtenPath = isDevice(path) ? path : path + ".partial";
  result->file = std::fopen(result->writtenPath.c_str(), "w");
  if (!result->file)
    return failure(path);
  return result;
}

StreamedFile::~StreamedFile() {
  if (file)
    std::fclose(file);
}

Status StreamedFile::writeLine(const std::string &line) {
  bool good = std::fwrite(line.data(), 1, line.size(), file) == line.size() && std::fputc('\n', file) != EOF && std::fflush(file) == 0;
  return good ? Status() : failure(path);
}

Status StreamedFile::finish() {
  bool device = path == writtenPath;
  bool good = std::fflush(file) == 0 && (device || fsync(fileno(file)) == 0);
  good = std::fclose(file) == 0 && good;
  file = nullptr;
  if (!good)
    return failure(path);
  if (!device && std::rename(writtenPath.c_str(), path.c_str()) != 0)
    return failure(path);
  return {};
}

Status checkWritable(const std::string &path) {
  if (isDevice(path))
    return {};
  std::error_code ignored;
  bool there = fs::exists(path + ".partial", ignored);
  Result<std::unique_ptr<StreamedFile>> file = StreamedFile::open(path);
  if (!file.ok())
    return file.status();
  if (!there)
    fs::remove(path + ".partial", ignored);
  return {};
}

} // namespace npar::driver
