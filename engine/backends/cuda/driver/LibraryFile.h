// Opens a library of CUDA at its first use: where npar searches for it, which functions it lacks, whether it is new enough.
#pragma once

#include "engine/status/Status.h"

#include <string>
#include <utility>
#include <vector>

namespace npar::engine::cuda {

/// A library's names in messages, and where npar searches for it.
struct LibraryPlace {
  const char *name;     ///< "CUDA driver"
  const char *subject;  ///< the name at the beginning of a sentence: "the CUDA driver"
  const char *variable; ///< environment variable with a path to load instead of `paths`
  std::vector<std::string> paths;
};

/// The file stays loaded until the process ends, because some of these libraries cannot be unloaded.
class LibraryFile {
public:
  /// Loads the file that the environment variable names, otherwise the first of the paths that can be loaded. The error, "there is no
  /// NAME", contains the reason why the first one cannot be loaded.
  static Result<LibraryFile> open(const LibraryPlace &place);

  /// Sets `function` to the function of that name, or to null if the library does not have it.
  template <class Function> void find(Function &function, const char *name) { function = reinterpret_cast<Function>(symbol(name)); }
  /// BadInput if a function was not found.
  Status complete() const;

private:
  LibraryFile(std::string what, void *handle) : what(std::move(what)), handle(handle) {}
  void *symbol(const char *name);

  std::string what, missing;
  void *handle;
};

/// Finds a function that a table of functions (NPAR_CUDA_FUNCTIONS and others) lists, for `file` and `functions` in scope.
#define NPAR_FIND_FUNCTION(MEMBER, SYMBOL, ...) file.find(functions.MEMBER, #SYMBOL);

/// What the driver and the libraries have in common. `Library` derives from it and defines
///
///     static LibraryPlace place();
///     void find(LibraryFile &file);  // fills `functions`, a table of type `Table`
///     Status checkVersion();         // whether the version is new enough; functions that were not found are null
///     Status start();                // what must be done once, if anything
template <class Library, class Table> class OpenedLibrary {
public:
  /// Loads the library once per process and keeps the result. Fails if the library does not exist, lacks a function or is too old (the
  /// error has both versions).
  static Result<const Library *> open() {
    // The result is kept, because a library that failed once would fail again. Never destroyed: threads of the library outlive `main`.
    static const auto *opened = [] {
      auto *library = new Library;
      return new std::pair<const Library *, Status>(library, library->load());
    }();
    if (!opened->second.ok())
      return opened->second;
    return opened->first;
  }
  /// Its functions, after `open` has succeeded.
  const Table &call() const { return functions; }

protected:
  Table functions = {};
  Status start() { return {}; }

private:
  Status load() {
    auto &library = static_cast<Library &>(*this);
    Result<LibraryFile> file = LibraryFile::open(Library::place());
    if (!file.ok())
      return file.status();
    library.find(*file);
    if (Status status = library.checkVersion(); !status.ok()) // first, because it explains why functions are missing
      return status;
    if (Status status = file->complete(); !status.ok())
      return status;
    return library.start();
  }
};

/// BadInput: the version is too old. `newer` is what to install: "a newer one".
Status libraryTooOld(const LibraryPlace &place, const std::string &version, const std::string &needed,
                     const std::string &newer = "a newer one");

/// The version number of cuBLASLt, cuDNN or NCCL as text: "13.1.0" for 130100.
std::string libraryVersion(size_t number);

} // namespace npar::engine::cuda
