// NVIDIA's library for neural networks, of which npar takes attention, found when it is first asked for: its functions, and its errors as
// Status.
#pragma once

#include "engine/backends/cuda/library/CudnnAbi.h"
#include "engine/status/Status.h"

#include <string>

namespace npar::engine::cuda {

/// The oldest version that is asked for attention, as cudnnGetVersion counts: 9.10 has known faults there.
constexpr size_t neededCudnn = 91100;

/// What may be called once `open` was good; stays loaded to the end of the process.
class Cudnn {
public:
  /// Loads the library that NPAR_CUDNN names, or libcudnn.so.9, also from the toolkit's own place, once per process. Fails where there is
  /// none, where it lacks a function or is older than needed (both versions are named). It computes nothing yet and needs no GPU.
  static Result<const Cudnn *> open();
  const DnnFunctions &call() const { return functions; }
  /// "9.19.0".
  std::string version() const;
  /// Good, or RunFailed: `what` was being done, the library's name for the code, and what it says of this thread's last error.
  Status check(DnnCode code, const std::string &what) const;

private:
  Cudnn() = default;
  Status load();
  DnnFunctions functions = {};
};

} // namespace npar::engine::cuda
