// Opens the driver and words its errors.
#include "engine/backends/cuda/driver/CudaDriver.h"

namespace npar::engine::cuda {

std::string versionText(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

std::string targetFor(int architecture) {
  int target = 0;
  for (int known : architecturesOfTargets)
    if (known <= architecture)
      target = known;
  return target ? "cuda:sm_" + std::to_string(target) : "";
}

LibraryPlace CudaDriver::place() { return {"CUDA driver", "the CUDA driver", "NPAR_CUDA_DRIVER", {"libcuda.so.1"}}; }

void CudaDriver::find(LibraryFile &file){NPAR_CUDA_FUNCTIONS(NPAR_FIND_FUNCTION)}

Status CudaDriver::checkVersion() {
  if (functions.driverGetVersion && functions.driverGetVersion(&driverVersion) == Code::Success && driverVersion < neededVersion)
    return libraryTooOld(place(), versionText(driverVersion), versionText(neededVersion), "a newer driver");
  return {};
}

Status CudaDriver::start() {
  Code code = functions.init(0);
  if (code == Code::Success)
    code = functions.deviceGetCount(&deviceCount);
  if (code == Code::NoDevice || (code == Code::Success && deviceCount == 0))
    return Status::badInput("there is no GPU: the CUDA driver " + versionText(driverVersion) + " sees none");
  if (code != Code::Success)
    return Status::badInput("the CUDA driver cannot be used: " + words(code));
  return {};
}

std::string CudaDriver::words(Code code) const {
  const char *name = nullptr, *text = nullptr;
  if (functions.getErrorName(code, &name) != Code::Success || !name)
    return "error " + std::to_string(static_cast<int>(code));
  std::string words = name;
  if (functions.getErrorString(code, &text) == Code::Success && text)
    words += " (" + std::string(text) + ")";
  return words;
}

Status CudaDriver::check(Code code, const std::string &what) const {
  return code == Code::Success ? Status() : Status::runFailed(what + ": " + words(code));
}

} // namespace npar::engine::cuda
