// Opens cuBLASLt and fills the table of its functions.
#include "engine/backends/cuda/library/CublasLt.h"

#include "engine/backends/cuda/driver/LibraryFile.h"

namespace npar::engine::cuda {

std::string cublasLtVersionText(size_t version) { return libraryVersion(version); }

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
  Result<LibraryFile> library =
      LibraryFile::open("cuBLASLt", "NPAR_CUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so"});
  if (!library.ok())
    return library.status();
#define NPAR_CUBLASLT_FIND(MEMBER, SYMBOL, PARAMETERS) library->find(functions.MEMBER, #SYMBOL);
  NPAR_CUBLASLT_FUNCTIONS(NPAR_CUBLASLT_FIND)
#undef NPAR_CUBLASLT_FIND
  library->find(functions.version, "cublasLtGetVersion");
  library->find(functions.nameOf, "cublasLtGetStatusName");
  libraryVersion = functions.version ? functions.version() : 0;
  if (functions.version && libraryVersion < neededCublasLt)
    return Status::badInput("cuBLASLt has version " + cublasLtVersionText(libraryVersion) + ", and " + cublasLtVersionText(neededCublasLt) +
                            " is needed: install a newer one");
  return library->complete();
}

Status CublasLt::check(LtCode code, const std::string &what) const {
  if (code == LtCode::Success)
    return {};
  const char *name = functions.nameOf(code);
  return Status::runFailed(what + ": " + (name ? name : "cuBLASLt's error " + std::to_string(static_cast<int>(code))));
}

} // namespace npar::engine::cuda
