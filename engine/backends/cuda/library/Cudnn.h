// NVIDIA's library for neural networks, which npar uses for attention, opened at its first use: its functions, and its errors as Status.
#pragma once

#include "engine/backends/cuda/driver/LibraryFile.h"
#include "engine/backends/cuda/library/CudnnAbi.h"

namespace npar::engine::cuda {

/// The oldest version that npar uses for attention, as cudnnGetVersion counts: 9.10 has known errors there.
constexpr size_t neededCudnn = 91100;

/// NPAR_CUDNN names another file than libcudnn.so.9, which may also be in the toolkit's own folder.
class Cudnn : public OpenedLibrary<Cudnn, DnnFunctions> {
public:
  /// "9.19.0".
  std::string version() const { return libraryVersion(functions.version()); }
  /// Success, or RunFailed with `what` was being done, the library's name for the error, and its description of this thread's last error.
  Status check(DnnCode code, const std::string &what) const;

private:
  friend OpenedLibrary;
  Cudnn() = default;
  static LibraryPlace place();
  void find(LibraryFile &file);
  Status checkVersion();
};

} // namespace npar::engine::cuda
