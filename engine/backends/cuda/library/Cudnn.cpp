// Opens cuDNN and fills the table of its functions.
#include "engine/backends/cuda/library/Cudnn.h"

#include "engine/backends/cuda/driver/LibraryFile.h"

namespace npar::engine::cuda {

std::string Cudnn::version() const { return libraryVersion(functions.version()); }

Result<const Cudnn *> Cudnn::open() {
  static const auto *opened = [] {
    auto *library = new Cudnn;
    return new std::pair<Cudnn *, Status>(library, library->load());
  }();
  if (!opened->second.ok())
    return opened->second;
  return static_cast<const Cudnn *>(opened->first);
}

Status Cudnn::load() {
  Result<LibraryFile> library = LibraryFile::open(
      "cuDNN", "NPAR_CUDNN", {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9", "/usr/local/cuda/lib/libcudnn.so.9"});
  if (!library.ok())
    return library.status();
#define NPAR_CUDNN_FIND(MEMBER, SYMBOL, PARAMETERS) library->find(functions.MEMBER, #SYMBOL);
  NPAR_CUDNN_FUNCTIONS(NPAR_CUDNN_FIND)
#undef NPAR_CUDNN_FIND
  library->find(functions.version, "cudnnGetVersion");
  library->find(functions.nameOf, "cudnnGetErrorString");
  library->find(functions.lastError, "cudnnGetLastErrorString");
  if (functions.version && functions.version() < neededCudnn)
    return Status::badInput("cuDNN has version " + version() + ", and " + libraryVersion(neededCudnn) + " is needed: install a newer one");
  return library->complete();
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
