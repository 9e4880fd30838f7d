// The CUDA driver, opened at its first use: its functions, and its errors as Status.
#pragma once

#include "engine/backends/cuda/driver/CudaAbi.h"
#include "engine/backends/cuda/driver/LibraryFile.h"

#include <string>

namespace npar::engine::cuda {

/// The oldest driver that assembles what npar's compiler writes (PTX 8.1): as cuDriverGetVersion counts, 1000 * major + 10 * minor.
constexpr int neededVersion = 12010;

/// Devices that npar has code for, as sm_80: what older ones lack its kernels need.
constexpr int oldestArchitecture = 80;
/// Those that `npar compile --target` names. Newer devices run code for older ones.
constexpr int architecturesOfTargets[] = {80, 86, 89, 90};
/// The best target for a device, "cuda:sm_90"; empty where it is too old.
std::string targetFor(int architecture);

/// "12.1" for 12010.
std::string versionText(int version);

/// The driver's functions. `open` also fails if there is no GPU. NPAR_CUDA_DRIVER names another file than libcuda.so.1.
class CudaDriver : public OpenedLibrary<CudaDriver, Functions> {
public:
  int version() const { return driverVersion; }
  int devices() const { return deviceCount; }

  /// Success, or RunFailed with `what` was being done and the driver's name and description of the error.
  Status check(Code code, const std::string &what) const;
  std::string words(Code code) const;

private:
  friend OpenedLibrary;
  CudaDriver() = default;
  static LibraryPlace place();
  void find(LibraryFile &file);
  Status checkVersion();
  Status start();

  int driverVersion = 0, deviceCount = 0;
};

} // namespace npar::engine::cuda
