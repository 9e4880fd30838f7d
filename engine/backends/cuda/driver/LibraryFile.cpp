// Opens a library and finds its functions.
#include "engine/backends/cuda/driver/LibraryFile.h"

#include <cstdlib>
#include <dlfcn.h>

namespace npar::engine::cuda {

Result<LibraryFile> LibraryFile::open(const std::string &what, const char *variable, std::vector<std::string> paths) {
  if (const char *given = std::getenv(variable); given && *given)
    paths = {given};
  std::string why;
  for (const std::string &path : paths) {
    if (void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return LibraryFile(what, path, handle);
    const char *text = ::dlerror();
    if (why.empty())
      why = text ? text : path + " cannot be loaded";
  }
  return Status::badInput("there is no " + what + ": " + why);
}

void *LibraryFile::symbol(const char *name) {
  void *found = ::dlsym(handle, name);
  if (!found)
    missing += (missing.empty() ? "" : ", ") + std::string(name);
  return found;
}

Status LibraryFile::complete() const { return missing.empty() ? Status() : Status::badInput(what + " '" + path + "' lacks " + missing); }

std::string libraryVersion(size_t number) {
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

} // namespace npar::engine::cuda
