// Follows symbolic links one by one, because the C library's way stops before a file that is still to be made.
#include "engine/files/Destination.h"

#include "engine/files/FileFailure.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace npar::files {

namespace fs = std::filesystem;

namespace {

/// N, when the path is the name `N` in this process's folder of open files.
std::optional<int> ownDescriptor(const fs::path &path) {
  if (path.parent_path() != "/proc/" + std::to_string(::getpid()) + "/fd")
    return std::nullopt;
  std::string name = path.filename().string();
  int number = -1;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? std::optional<int>(number) : std::nullopt;
}

} // namespace

Destination destinationOf(const std::string &given) {
  Destination result;
  std::error_code unknown;
  fs::path path = fs::absolute(given, unknown);
  constexpr int mostLinks = 40; // as the kernel; a cycle ends here
  for (int i = 0; i < mostLinks && !unknown; ++i) {
    // The folder's links are followed first: /dev/fd is one, and `..` after a link is not what it looks like.
    fs::path folder = fs::weakly_canonical(path.parent_path(), unknown);
    if (unknown)
      break;
    path = folder / path.filename();
    if (std::optional<int> number = ownDescriptor(path); number && fs::is_symlink(path, unknown)) {
      result.path = path.string(), result.descriptor = *number, result.direct = true;
      return result;
    }
    std::error_code none;
    if (!fs::is_symlink(path, none))
      break;
    fs::path target = fs::read_symlink(path, unknown);
    if (!unknown)
      path = target.is_absolute() ? target : folder / target;
  }
  result.path = unknown ? given : path.lexically_normal().string();
  fs::file_status status = fs::status(result.path, unknown);
  result.direct = fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
  return result;
}

engine::Result<int> openDirect(const Destination &destination, const std::string &path) {
  if (destination.descriptor >= 0) {
    int file = ::fcntl(destination.descriptor, F_DUPFD_CLOEXEC, 0);
    return file >= 0 ? engine::Result<int>(file) : fileFailure("write", path, errno);
  }
  constexpr int seconds = 60, perSecond = 20;
  for (int attempt = 0; attempt < seconds * perSecond; ++attempt) {
    int file = ::open(destination.path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK); // ENXIO: a pipe without a reader
    if (file < 0 && errno != ENXIO)
      return fileFailure("write", path, errno);
    if (file >= 0) {
      ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) & ~O_NONBLOCK);
      return file;
    }
    sigset_t held;
    ::sigpending(&held);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR2})
      if (::sigismember(&held, signal) == 1)
        return engine::Status::badInput("cannot write '" + path + "': a signal came before a reader of the pipe");
    ::usleep(1000000 / perSecond);
  }
  return engine::Status::badInput("cannot write '" + path + "': no process has opened the pipe to read for " + std::to_string(seconds) +
                                  " s");
}

} // namespace npar::files
