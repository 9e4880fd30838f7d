// Decides which of a host's GPUs a process takes, and opens them.
#include "engine/backends/cuda/program/OpenGpus.h"

#include "engine/backends/cuda/program/CudaDevices.h"

#include <algorithm>

namespace npar::engine::cuda {

/// Number of GPUs that a process uses.
static Result<int64_t> countOf(const Spread &spread, int64_t onHost) {
  auto asked = [&] { return "--cuda-gpus " + std::to_string(spread.devices) + ": "; };
  if (spread.devices > onHost)
    return Status::badInput(asked() + "this host has " + std::to_string(onHost) + (onHost == 1 ? " GPU" : " GPUs") +
                            " that npar can see (npar devices shows them)");
  if (spread.devices > spread.ranks)
    return Status::badInput(asked() + "this process has " + std::to_string(spread.ranks) + (spread.ranks == 1 ? " rank" : " ranks") +
                            ", and a rank cannot use several GPUs: use a plan with more ranks");
  if (spread.devices > 0)
    return spread.devices;
  return std::clamp<int64_t>(onHost / spread.processes, 1, spread.ranks);
}

Result<std::unique_ptr<Backend>> openGpus(const Spread &spread, const std::string &products, const std::string &attention) {
  Result<const CudaDriver *> driver = CudaDriver::open();
  if (!driver.ok())
    return driver.status();
  int64_t onHost = (*driver)->devices();
  Result<int64_t> count = countOf(spread, onHost);
  if (!count.ok())
    return count.status();
  DeviceOrder::Gpus gpus;
  std::vector<std::string> remarks;
  for (int64_t i = 0; i < *count; ++i) {
    auto ordinal = static_cast<int>((spread.process * *count + i) % onHost);
    Result<DeviceIdentity> identity = identify(**driver, ordinal);
    if (!identity.ok())
      return identity.status();
    if (i > 0 && identity->architecture != gpus[0]->gpu().identity().architecture) {
      std::string differ = gpus[0]->gpu().label() + " is sm_" + std::to_string(gpus[0]->gpu().identity().architecture) + ", and " +
                           identity->label(ordinal) + " is sm_" + std::to_string(identity->architecture);
      if (spread.devices > 0)
        return Status::badInput(differ +
                                ": the GPUs of a process must be of one kind; CUDA_VISIBLE_DEVICES chooses others, or give --cuda-gpus " +
                                std::to_string(i));
      remarks.push_back(differ + ": this process takes the first " + std::to_string(i) + " of its GPUs");
      break;
    }
    auto gpu = CudaBackend::open(**driver, ordinal, products, attention);
    if (!gpu.ok())
      return gpu.status();
    gpus.push_back(std::move(*gpu));
  }
  if (gpus.size() == 1 && remarks.empty())
    return std::unique_ptr<Backend>(std::move(gpus[0]));
  return CudaDevices::open(std::move(gpus), std::move(remarks));
}

} // namespace npar::engine::cuda
