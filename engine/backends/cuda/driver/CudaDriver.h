// The CUDA driver, found when it is first asked for: its functions, and its errors as Status.
#pragma once

#include "engine/backends/cuda/driver/CudaAbi.h"
#include "engine/status/Status.h"

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

/// What may be called once `open` was good; stays loaded to the end of the process.
class CudaDriver {
public:
  /// Loads libcuda.so.1, or the library that NPAR_CUDA_DRIVER names, once per process. Fails where there is none, where it lacks a
  /// function, is older than needed (both versions are named), or has no device.
  static Result<const CudaDriver *> open();

  const Functions &call() const { return functions; }
  int version() const { return driverVersion; }
  int devices() const { return deviceCount; }

  /// Good, or RunFailed: `what` was being done, and the driver's name and words for the code.
  Status check(Code code, const std::string &what) const;
  std::string words(Code code) const;

private:
  CudaDriver() = default;
  Status load();

  Functions functions = {};
  int driverVersion = 0, deviceCount = 0;
};

} // namespace npar::engine::cuda
