// A library of CUDA's that is opened when it is first asked for: where it is looked for, and which functions it lacks.
#pragma once

#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::engine::cuda {

/// Stays loaded to the end of the process: some of these libraries cannot be unloaded.
class LibraryFile {
public:
  /// The file that the environment's variable names, else the first of `paths` that can be loaded. An error: "there is no `what`", and why
  /// the first cannot.
  static Result<LibraryFile> open(const std::string &what, const char *variable, std::vector<std::string> paths);

  /// Sets the function, to null where the library has none of this name.
  template <class Function> void find(Function &function, const char *name) { function = reinterpret_cast<Function>(symbol(name)); }
  /// BadInput where something was not found.
  Status complete() const;

private:
  LibraryFile(std::string what, std::string path, void *handle) : what(std::move(what)), path(std::move(path)), handle(handle) {}
  void *symbol(const char *name);

  std::string what, path, missing;
  void *handle;
};

/// "13.1.0" of 130100: as cuBLASLt and NCCL count their versions.
std::string libraryVersion(size_t number);

} // namespace npar::engine::cuda
