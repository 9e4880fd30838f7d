// NCCL, opened at its first use: its functions, its version, and its errors as Status.
#pragma once

#include "engine/backends/cuda/driver/LibraryFile.h"
#include "engine/backends/cuda/nccl/NcclAbi.h"

namespace npar::engine::cuda {

/// The oldest NCCL whose communicators can be non-blocking and can be split, as ncclGetVersion counts.
constexpr int neededNccl = 21801;

/// NPAR_NCCL names another file than libnccl.so.2.
class NcclLibrary : public OpenedLibrary<NcclLibrary, NcclFunctions> {
public:
  /// "2.28.9".
  std::string version() const { return libraryVersion(static_cast<size_t>(number)); }

  /// Success, also while an operation is in progress, or RunFailed with `what` was being done, the library's description of the error and,
  /// if it is given, the communicator's.
  Status check(NcclCode code, const std::string &what, void *communicator = nullptr) const;

private:
  friend OpenedLibrary;
  NcclLibrary() = default;
  static LibraryPlace place();
  void find(LibraryFile &file);
  Status checkVersion();
  Status start();

  int number = 0;
};

} // namespace npar::engine::cuda
