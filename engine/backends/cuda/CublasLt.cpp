// Opens cuBLASLt and fills the table of its functions.
#include "engine/backends/cuda/CublasLt.h"

#include <cstdlib>
#include <dlfcn.h>
#include <vector>

namespace npar::engine::cuda {

std::string cublasLtVersionText(size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

Result<const CublasLt *> CublasLt::open() {
  static const auto *opened = [] {
    auto *library = new CublasLt;
    return new std::pair<CublasLt *, Status>(library, library->load());
  }();
  if (!opened->second.ok())
    return opened->second;
  return static_cast<const CublasLt *>(opened->first);
}

Status CublasLt::load() {
  const char *given = std::getenv("NPAR_CUBLASLT");
  std::vector<std::string> paths = {"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so"};
  if (given && *given)
    paths = {given};
  void *library = nullptr;
  std::string path, why;
  for (size_t i = 0; i < paths.size() && !library; ++i) {
    library = ::dlopen((path = paths[i]).c_str(), RTLD_LAZY | RTLD_LOCAL);
    const char *text = library || i > 0 ? nullptr : ::dlerror();
    why = text ? text : why;
  }
  if (!library)
    return Status::badInput("there is no cuBLASLt: " + why);
  std::string missing;
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (!function)
      missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
#define NPAR_CUBLASLT_FIND(MEMBER, SYMBOL, PARAMETERS) find(functions.MEMBER, #SYMBOL);
  NPAR_CUBLASLT_FUNCTIONS(NPAR_CUBLASLT_FIND)
#undef NPAR_CUBLASLT_FIND
  find(functions.version, "cublasLtGetVersion");
  find(functions.nameOf, "cublasLtGetStatusName");
  libraryVersion = functions.version ? functions.version() : 0;
  if (functions.version && libraryVersion < neededCublasLt)
    return Status::badInput("cuBLASLt is of version " + cublasLtVersionText(libraryVersion) + ", and " +
                            cublasLtVersionText(neededCublasLt) + " is needed: install a newer one");
  return missing.empty() ? Status() : Status::badInput("cuBLASLt '" + path + "' lacks " + missing);
}

Status CublasLt::check(LtCode code, const std::string &what) const {
  if (code == LtCode::Success)
    return {};
  const char *name = functions.nameOf(code);
  return Status::runFailed(what + ": " + (name ? name : "cuBLASLt's error " + std::to_string(static_cast<int>(code))));
}

} // namespace npar::engine::cuda
