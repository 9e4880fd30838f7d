// Looks at each folder and file after it is open, never by its name.
#include "engine/files/PrivateFolder.h"

#include "engine/files/Descriptor.h"
#include "engine/files/RandomName.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace npar::files {

using engine::Code;
using engine::Result;
using engine::Status;

namespace {

/// Why others may have written what is open; empty: they cannot have.
std::string whyOthers(const struct stat &info) {
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return "user " + std::to_string(info.st_uid) + " owns it";
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0)
    return "";
  char mode[8];
  std::snprintf(mode, sizeof(mode), "%04o", info.st_mode & 07777);
  return std::string("others can write it (mode ") + mode + "): chmod go-w";
}

Status failure(const std::string &path, int error) { return Status::badInput("'" + path + "': " + std::strerror(error)); }

Status check(int file, const std::string &path) {
  struct stat info;
  if (::fstat(file, &info) != 0)
    return failure(path, errno);
  std::string why = whyOthers(info);
  return why.empty() ? Status() : Status(Code::CheckFailed, "'" + path + "' is not trusted, " + why);
}

enum class Missing { Make, Leave };

/// Opens a folder in another one. Where it is missing, makes it, or returns no descriptor.
Result<Descriptor> openFolder(int in, const std::string &name, const std::string &path, int flags, Missing missing) {
  if (missing == Missing::Make && ::mkdirat(in, name.c_str(), 0700) != 0 && errno != EEXIST)
    return failure(path, errno);
  Descriptor folder(::openat(in, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
  if (folder.get() < 0)
    return missing == Missing::Leave && errno == ENOENT ? Result<Descriptor>(Descriptor()) : failure(path, errno);
  Status status = check(folder.get(), path);
  return status.ok() ? Result<Descriptor>(std::move(folder)) : status;
}

/// `root` as an absolute path without a slash at the end.
std::filesystem::path absoluteRoot(const std::string &root) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(root, error).lexically_normal();
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

/// Opens `root`, then each folder of `below` in the one before.
Result<Descriptor> openAll(const std::string &root, const std::string &below, Missing missing) {
  // The root itself may be a link of the user's: the folder that it leads to is checked.
  TRY(Descriptor folder, openFolder(AT_FDCWD, absoluteRoot(root).string(), root, 0, missing));
  std::string path = root;
  for (const auto &part : std::filesystem::path(below)) {
    if (!folder)
      break;
    path += "/" + part.string();
    TRY(Descriptor inner, openFolder(folder.get(), part.string(), path, O_NOFOLLOW, missing));
    folder = std::move(inner);
  }
  return Result<Descriptor>(std::move(folder));
}

} // namespace

Result<PrivateFolder> PrivateFolder::open(const std::string &root, const std::string &below) {
  std::filesystem::path above;
  for (const auto &part : absoluteRoot(root).parent_path()) {
    above /= part;
    if (::mkdir(above.c_str(), 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
      return failure(root, errno);
  }
  TRY(Descriptor folder, openAll(root, below, Missing::Make));
  return PrivateFolder(below.empty() ? root : root + "/" + below, folder.release());
}

Result<std::optional<PrivateFolder>> PrivateFolder::find(const std::string &root, const std::string &below) {
  TRY(Descriptor folder, openAll(root, below, Missing::Leave));
  if (!folder)
    return std::optional<PrivateFolder>();
  return std::optional<PrivateFolder>(PrivateFolder(below.empty() ? root : root + "/" + below, folder.release()));
}

PrivateFolder::PrivateFolder(PrivateFolder &&other) noexcept : path(std::move(other.path)), folder(std::exchange(other.folder, -1)) {}
PrivateFolder &PrivateFolder::operator=(PrivateFolder &&other) noexcept {
  std::swap(path, other.path);
  std::swap(folder, other.folder);
  return *this;
}
PrivateFolder::~PrivateFolder() {
  if (folder >= 0)
    ::close(folder);
}

Result<std::optional<std::vector<uint8_t>>> PrivateFolder::read(const std::string &name, uint64_t largest) const {
  std::string full = path + "/" + name;
  Descriptor file(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0 && errno == ENOENT)
    return std::optional<std::vector<uint8_t>>();
  if (file.get() < 0)
    return failure(full, errno);
  struct stat info;
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return Status::badInput("'" + full + "' is not a regular file");
  if (Status status = check(file.get(), full); !status.ok())
    return status;
  if (static_cast<uint64_t>(info.st_size) > largest)
    return Status::badInput("'" + full + "' has " + std::to_string(info.st_size) + " bytes, more than the " + std::to_string(largest) +
                            " that may be read");
  std::vector<uint8_t> bytes(static_cast<size_t>(info.st_size));
  for (size_t at = 0; at < bytes.size();) {
    ssize_t got = ::pread(file.get(), bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return got < 0 ? failure(full, errno) : Status::badInput("'" + full + "' was truncated while it was read");
    at += static_cast<size_t>(got);
  }
  return std::optional(std::move(bytes));
}

Status PrivateFolder::write(const std::string &name, const void *data, size_t size) const {
  std::string full = path + "/" + name, temporary = name + "-" + randomName() + ".tmp";
  Descriptor file(::openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0)
    return failure(full, errno);
  const auto *bytes = static_cast<const uint8_t *>(data);
  int error = 0;
  for (size_t at = 0; at < size && !error;) {
    ssize_t put = ::write(file.get(), bytes + at, std::min(size - at, size_t{1} << 30));
    if (put < 0 && errno != EINTR)
      error = errno;
    at += static_cast<size_t>(std::max<ssize_t>(0, put));
  }
  if (::close(file.release()) != 0 && !error)
    error = errno;
  if (!error && ::renameat(folder, temporary.c_str(), folder, name.c_str()) != 0)
    error = errno;
  if (error)
    ::unlinkat(folder, temporary.c_str(), 0);
  return error ? failure(full, error) : Status();
}

CachePlace cachePlace(const std::string &below) {
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::string given = variable("NPAR_CACHE"); !given.empty())
    return {given, "", true};
  std::string cache = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (cache.empty() && home.empty())
    return {};
  return {(cache.empty() ? home + "/.cache" : cache) + "/npar", below, false};
}

} // namespace npar::files
