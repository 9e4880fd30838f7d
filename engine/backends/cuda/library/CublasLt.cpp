// Opens cuBLASLt and words its errors.
#include "engine/backends/cuda/library/CublasLt.h"

namespace npar::engine::cuda {

LibraryPlace CublasLt::place() {
  return {"cuBLASLt", "cuBLASLt", "NPAR_CUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so"}};
}

void CublasLt::find(LibraryFile &file) {
  NPAR_CUBLASLT_FUNCTIONS(NPAR_FIND_FUNCTION)
  file.find(functions.version, "cublasLtGetVersion");
  file.find(functions.nameOf, "cublasLtGetStatusName");
}

Status CublasLt::checkVersion() {
  number = functions.version ? functions.version() : 0;
  return functions.version && number < neededCublasLt ? libraryTooOld(place(), version(), libraryVersion(neededCublasLt)) : Status();
}

Status CublasLt::check(LtCode code, const std::string &what) const {
  if (code == LtCode::Success)
    return {};
  const char *name = functions.nameOf(code);
  return Status::runFailed(what + ": " + (name ? name : "cuBLASLt's error " + std::to_string(static_cast<int>(code))));
}

} // namespace npar::engine::cuda
