// Loads a library's file and finds its functions.
#include "engine/backends/cuda/driver/LibraryFile.h"

#include <cstdlib>
#include <dlfcn.h>

namespace npar::engine::cuda {

Result<LibraryFile> LibraryFile::open(const LibraryPlace &place) {
  std::vector<std::string> paths = place.paths;
  if (const char *given = std::getenv(place.variable); given && *given)
    paths = {given};
  std::string why;
  for (const std::string &path : paths) {
    if (void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return LibraryFile(std::string(place.subject) + " '" + path + "'", handle);
    const char *text = ::dlerror();
    if (why.empty())
      why = text ? text : path + " cannot be loaded";
  }
  return Status::badInput("there is no " + std::string(place.name) + ": " + why);
}

void *LibraryFile::symbol(const char *name) {
  void *found = ::dlsym(handle, name);
  if (!found)
    missing += (missing.empty() ? "" : ", ") + std::string(name);
  return found;
}

Status LibraryFile::complete() const { return missing.empty() ? Status() : Status::badInput(what + " lacks " + missing); }

Status libraryTooOld(const LibraryPlace &place, const std::string &version, const std::string &needed, const std::string &newer) {
  return Status::badInput(std::string(place.subject) + " has version " + version + ", and " + needed + " is needed: install " + newer);
}

std::string libraryVersion(size_t number) {
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

} // namespace npar::engine::cuda
