#include "tools/api/library/CompilerLibrary.h"
#include "tools/api/Texts.h"

#include <dlfcn.h>
#include <filesystem>
#include <mutex>

namespace npar::api {

using engine::Result;
using engine::Status;

namespace {

constexpr const char *fileName = "libnpar_compiler.so.0";

/// Beside this library, or where the system looks for libraries.
Result<const CompilerTable *> open() {
  Dl_info here{};
  std::string beside;
  if (::dladdr(reinterpret_cast<const void *>(&open), &here) && here.dli_fname)
    beside = (std::filesystem::path(here.dli_fname).parent_path() / fileName).string();
  // RTLD_LOCAL: another LLVM in this process must not meet this one.
  void *library = beside.empty() ? nullptr : ::dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string why;
  if (!library) {
    if (const char *said = ::dlerror())
      why = said;
    library = ::dlopen(fileName, RTLD_NOW | RTLD_LOCAL);
  }
  if (!library)
    return Status::runFailed("compiling needs " + std::string(fileName) + ", which cannot be opened: " + why +
                             "; compiled programs (.npx) run without it");
  auto table = reinterpret_cast<decltype(&npar_compiler_table)>(::dlsym(library, "npar_compiler_table"));
  const CompilerTable *functions = table ? table() : nullptr;
  std::string version = functions ? textOf(functions->version) : "another";
  if (version != NPAR_VERSION) {
    ::dlclose(library);
    return Status::usage(std::string(fileName) + " has version " + version +
                         " of npar, and libnpar has " NPAR_VERSION ": install both from one package");
  }
  return functions;
}

} // namespace

Result<const CompilerTable *> compilerLibrary() {
  static std::mutex one;
  static const CompilerTable *opened = nullptr;
  std::lock_guard<std::mutex> guard(one);
  if (!opened) {
    TRY(opened, open());
  }
  return opened;
}

Answer CompilerAnswer::receiver() {
  Answer answer;
  answer.user = this;
  answer.part = [](void *user, const char *name, const void *data, size_t size) {
    static_cast<CompilerAnswer *>(user)->parts[name].assign(static_cast<const char *>(data), size);
  };
  answer.error = [](void *user, npar_code code, npar_str text, npar_str diagnostics) {
    static_cast<CompilerAnswer *>(user)->status = Status::located(static_cast<engine::Code>(code), textOf(text), textOf(diagnostics));
  };
  return answer;
}

Result<program::ProgramPointer> CompilerAnswer::program(const std::string &name) const {
  auto part = parts.find(name);
  if (part == parts.end())
    return program::ProgramPointer();
  // The compiler has checked these bytes; the check here finds a library that was damaged on disk or by the host.
  return program::LoadedProgram::fromBytes(std::vector<uint8_t>(part->second.begin(), part->second.end()), "the compiled program");
}

} // namespace npar::api
