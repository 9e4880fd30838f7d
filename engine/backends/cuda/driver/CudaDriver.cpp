// Opens the driver's library and fills the table of its functions.
#include "engine/backends/cuda/driver/CudaDriver.h"

#include "engine/backends/cuda/driver/LibraryFile.h"

namespace npar::engine::cuda {

std::string versionText(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

std::string targetFor(int architecture) {
  int target = 0;
  for (int known : architecturesOfTargets)
    if (known <= architecture)
      target = known;
  return target ? "cuda:sm_" + std::to_string(target) : "";
}

Result<const CudaDriver *> CudaDriver::open() {
  // A driver that failed once is not tried again: what it lacks it goes on lacking. Never destroyed, since threads of the driver live on.
  static const auto *opened = [] {
    auto *driver = new CudaDriver;
    return new std::pair<CudaDriver *, Status>(driver, driver->load());
  }();
  if (!opened->second.ok())
    return opened->second;
  return static_cast<const CudaDriver *>(opened->first);
}

Status CudaDriver::load() {
  Result<LibraryFile> library = LibraryFile::open("CUDA driver", "NPAR_CUDA_DRIVER", {"libcuda.so.1"});
  if (!library.ok())
    return library.status();
#define NPAR_CUDA_FIND(MEMBER, SYMBOL, PARAMETERS) library->find(functions.MEMBER, #SYMBOL);
  NPAR_CUDA_FUNCTIONS(NPAR_CUDA_FIND)
#undef NPAR_CUDA_FIND
  if (functions.driverGetVersion && functions.driverGetVersion(&driverVersion) == Code::Success && driverVersion < neededVersion)
    return Status::badInput("the CUDA driver has version " + versionText(driverVersion) + ", and " + versionText(neededVersion) +
                            " is needed: install a newer driver");
  if (Status status = library->complete(); !status.ok())
    return Status::badInput("the " + status.message());
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
