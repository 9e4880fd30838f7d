// NVIDIA's library of matrix products, found when it is first asked for: its functions, and its errors as Status.
#pragma once

#include "engine/backends/cuda/library/CublasLtAbi.h"
#include "engine/status/Status.h"

#include <string>

namespace npar::engine::cuda {

/// The oldest version whose algorithms npar may keep and ask for by what they are: as cublasLtGetVersion counts.
constexpr size_t neededCublasLt = 120000;

/// "13.1.0" of 130100.
std::string cublasLtVersionText(size_t version);

/// What may be called once `open` was good; stays loaded to the end of the process, for some versions cannot be unloaded.
class CublasLt {
public:
  /// Loads the library that NPAR_CUBLASLT names, or libcublasLt.so.13 or .12, also from the toolkit's own place, once per process. Fails
  /// where there is none, where it lacks a function or is older than needed (both versions are named). It computes nothing yet and needs no
  /// GPU.
  static Result<const CublasLt *> open();

  const LtFunctions &call() const { return functions; }
  size_t version() const { return libraryVersion; }
  /// Good, or RunFailed: `what` was being done, and the library's name for the code.
  Status check(LtCode code, const std::string &what) const;

private:
  CublasLt() = default;
  Status load();

  LtFunctions functions = {};
  size_t libraryVersion = 0;
};

} // namespace npar::engine::cuda
