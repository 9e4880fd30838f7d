// Uses the POSIX calls that end with "at", and reports the error of each.
#include "engine/files/OpenFolder.h"

#include "engine/files/Descriptor.h"
#include "engine/files/FileFailure.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace npar::files {

using engine::Result;
using engine::Status;

Status OpenFolder::failure(const std::string &what, const std::string &name, int error) const {
  return fileFailure(what, name.empty() ? path : path + "/" + name, error);
}

Result<OpenFolder> OpenFolder::open(const std::string &path) {
  OpenFolder folder(path);
  folder.file = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder.file < 0)
    return folder.failure("open the folder", "", errno);
  return folder;
}

OpenFolder::OpenFolder(OpenFolder &&other) noexcept : path(std::move(other.path)), file(std::exchange(other.file, -1)) {}

OpenFolder &OpenFolder::operator=(OpenFolder &&other) noexcept {
  std::swap(path, other.path);
  std::swap(file, other.file);
  return *this;
}

OpenFolder::~OpenFolder() {
  if (file >= 0)
    ::close(file);
}

Result<OpenFolder> OpenFolder::inside(const std::string &name) const {
  OpenFolder folder(path + "/" + name);
  folder.file = ::openat(file, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder.file < 0)
    return folder.failure("open the folder", "", errno);
  return folder;
}

OpenFolder::Kind OpenFolder::kindOf(const std::string &name) const {
  struct stat info;
  if (::fstatat(file, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return Kind::None;
  return S_ISREG(info.st_mode) ? Kind::File : S_ISDIR(info.st_mode) ? Kind::Folder : S_ISLNK(info.st_mode) ? Kind::Link : Kind::Other;
}

Result<std::vector<std::string>> OpenFolder::names() const {
  Descriptor own(::openat(file, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)); // a stream takes its descriptor, and has a place of its own
  DIR *entries = own ? ::fdopendir(own.get()) : nullptr;
  if (!entries)
    return failure("read the folder", "", errno);
  own.release();
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR *)> closed(entries, ::closedir);
  while (const dirent *entry = ::readdir(entries))
    if (std::string name = entry->d_name; name != "." && name != "..")
      names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> OpenFolder::read(const std::string &name, uint64_t most) const {
  Descriptor opened(::openat(file, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)); // a pipe would wait for its writer
  const int from = opened.get();
  if (from < 0)
    return failure("read", name, errno);
  struct stat info;
  if (::fstat(from, &info) != 0)
    return failure("read", name, errno);
  if (!S_ISREG(info.st_mode))
    return Status::badInput("cannot read '" + path + "/" + name + "': it is no regular file");
  if (static_cast<uint64_t>(info.st_size) > most)
    return Status::badInput("cannot read '" + path + "/" + name + "': its " + std::to_string(info.st_size) + " bytes are more than the " +
                            std::to_string(most) + " that it may have");
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = ::pread(from, &bytes[done], bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return failure("read", name, errno);
    if (got == 0)
      break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Status OpenFolder::replace(const std::string &name, const std::string &text) const {
  if (Kind kind = kindOf(name); kind != Kind::None && kind != Kind::File)
    return Status::badInput("cannot write '" + path + "/" + name + "': it is no regular file");
  std::string fresh = "." + name + ".partial";
  if (Status status = removeFile(fresh); !status.ok())
    return status;
  int to = ::openat(file, fresh.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (to < 0)
    return failure("write", fresh, errno);
  int error = 0;
  for (size_t at = 0; at < text.size() && error == 0;) {
    ssize_t count = ::write(to, text.data() + at, text.size() - at);
    at += count > 0 ? static_cast<size_t>(count) : 0;
    error = count < 0 && errno != EINTR ? errno : 0;
  }
  if (error == 0 && ::fsync(to) != 0)
    error = errno;
  if (::close(to) != 0 && error == 0)
    error = errno;
  if (error != 0) {
    ::unlinkat(file, fresh.c_str(), 0);
    return failure("write", name, error);
  }
  Status status = rename(fresh, name);
  return status.ok() ? sync() : status;
}

Status OpenFolder::removeFile(const std::string &name) const {
  return ::unlinkat(file, name.c_str(), 0) == 0 || errno == ENOENT ? Status() : failure("remove", name, errno);
}

Status OpenFolder::removeEmptyFolder(const std::string &name) const {
  return ::unlinkat(file, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT ? Status() : failure("remove the folder", name, errno);
}

Status OpenFolder::rename(const std::string &from, const std::string &to) const {
  return ::renameat(file, from.c_str(), file, to.c_str()) == 0 ? Status() : failure("rename '" + from + "' to", to, errno);
}

Status OpenFolder::sync() const {
  int error = ::fsync(file) == 0 ? 0 : errno;
  if (error == EINVAL || error == EROFS || error == ENOTSUP) // a file system that cannot sync folders
    return {};
  return error ? failure("sync the folder", "", error) : Status();
}

} // namespace npar::files
