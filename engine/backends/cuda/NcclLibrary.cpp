// Opens NCCL and fills the table of its functions.
#include "engine/backends/cuda/NcclLibrary.h"

#include <cstdlib>
#include <dlfcn.h>
#include <utility>

namespace npar::engine::cuda {

static std::string versionOf(int number) {
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

Result<const NcclLibrary *> NcclLibrary::open() {
  // What it lacks it goes on lacking. Never destroyed, since its threads live on.
  static const auto *opened = [] {
    auto *library = new NcclLibrary;
    return new std::pair<NcclLibrary *, Status>(library, library->load());
  }();
  if (!opened->second.ok())
    return opened->second;
  return static_cast<const NcclLibrary *>(opened->first);
}

Status NcclLibrary::load() {
  const char *given = std::getenv("NPAR_NCCL");
  std::string path = given && *given ? given : "libnccl.so.2";
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char *why = library ? nullptr : ::dlerror();
  std::string trouble = why ? why : path + " cannot be loaded";
  if (!library && !(given && *given)) // where CUDA's toolkit is by default
    library = ::dlopen("/usr/local/cuda/lib64/libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Status::badInput("there is no NCCL: " + trouble);
  std::string missing;
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (!function)
      missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
#define NPAR_NCCL_FIND(MEMBER, SYMBOL, RESULT, PARAMETERS) find(functions.MEMBER, #SYMBOL);
  NPAR_NCCL_FUNCTIONS(NPAR_NCCL_FIND)
#undef NPAR_NCCL_FIND
  if (functions.getVersion && functions.getVersion(&number) == NcclCode::Success && number < neededNccl)
    return Status::badInput("NCCL is of version " + versionOf(number) + ", and " + versionOf(neededNccl) +
                            " is needed: install a newer one");
  if (!missing.empty())
    return Status::badInput("NCCL '" + path + "' lacks " + missing);
  return number > 0 ? Status() : Status::badInput("NCCL '" + path + "' does not say its version");
}

std::string NcclLibrary::version() const { return versionOf(number); }

Status NcclLibrary::check(NcclCode code, const std::string &what, void *communicator) const {
  if (code == NcclCode::Success || code == NcclCode::InProgress)
    return {};
  const char *name = functions.getErrorString(code), *last = functions.getLastError(communicator);
  std::string words = name ? name : "error " + std::to_string(static_cast<int>(code));
  if (last && *last)
    words += " (" + std::string(last) + ")";
  return Status::runFailed("NCCL: " + what + ": " + words);
}

} // namespace npar::engine::cuda
