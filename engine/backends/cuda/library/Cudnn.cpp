// Opens cuDNN and words its errors.
#include "engine/backends/cuda/library/Cudnn.h"

namespace npar::engine::cuda {

LibraryPlace Cudnn::place() {
  return {"cuDNN", "cuDNN", "NPAR_CUDNN", {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9", "/usr/local/cuda/lib/libcudnn.so.9"}};
}

void Cudnn::find(LibraryFile &file) {
  NPAR_CUDNN_FUNCTIONS(NPAR_FIND_FUNCTION)
  file.find(functions.version, "cudnnGetVersion");
  file.find(functions.nameOf, "cudnnGetErrorString");
  file.find(functions.lastError, "cudnnGetLastErrorString");
}

Status Cudnn::checkVersion() {
  return functions.version && functions.version() < neededCudnn ? libraryTooOld(place(), version(), libraryVersion(neededCudnn)) : Status();
}

Status Cudnn::check(DnnCode code, const std::string &what) const {
  if (code == DnnCode::Success)
    return {};
  const char *name = functions.nameOf(code);
  char last[512] = "";
  functions.lastError(last, sizeof last);
  std::string why = name ? name : "cuDNN's error " + std::to_string(static_cast<int>(code));
  return Status::runFailed(what + ": " + why + (*last ? std::string(": ") + last : ""));
}

} // namespace npar::engine::cuda
