// NCCL, found when it is first asked for: its functions, its version, and its errors as Status.
#pragma once

#include "engine/backends/cuda/nccl/NcclAbi.h"
#include "engine/status/Status.h"

#include <string>

namespace npar::engine::cuda {

/// The oldest NCCL whose communicators need not block and can be split, as ncclGetVersion counts.
constexpr int neededNccl = 21801;

/// What may be called once `open` was good; stays loaded to the end of the process.
class NcclLibrary {
public:
  /// Loads libnccl.so.2, or the library that NPAR_NCCL names, once per process. Fails where there is none, where it lacks a function or is
  /// older than needed.
  static Result<const NcclLibrary *> open();

  const NcclFunctions &call() const { return functions; }
  /// "2.28.9".
  std::string version() const;

  /// Good, also of what is still in progress, or RunFailed: `what` was being done, and the library's words, with those of the communicator
  /// where there is one.
  Status check(NcclCode code, const std::string &what, void *communicator = nullptr) const;

private:
  NcclLibrary() = default;
  Status load();

  NcclFunctions functions = {};
  int number = 0;
};

} // namespace npar::engine::cuda
