// NVIDIA's library of matrix products, opened at its first use: its functions, and its errors as Status.
#pragma once

#include "engine/backends/cuda/driver/LibraryFile.h"
#include "engine/backends/cuda/library/CublasLtAbi.h"

namespace npar::engine::cuda {

/// The oldest version, as cublasLtGetVersion counts, whose algorithms npar can save and request by their attributes.
constexpr size_t neededCublasLt = 120000;

/// NPAR_CUBLASLT names another file than libcublasLt.so.13 or .12, which may also be in the toolkit's own folder.
class CublasLt : public OpenedLibrary<CublasLt, LtFunctions> {
public:
  /// "13.1.0".
  std::string version() const { return libraryVersion(number); }
  /// Success, or RunFailed with `what` was being done and the library's name for the error.
  Status check(LtCode code, const std::string &what) const;

private:
  friend OpenedLibrary;
  CublasLt() = default;
  static LibraryPlace place();
  void find(LibraryFile &file);
  Status checkVersion();

  size_t number = 0;
};

} // namespace npar::engine::cuda
