// GPUs of several processes joined by NCCL: messages in the stream of the thread that starts them.
#pragma once

#include "engine/backends/cuda/driver/CudaDevice.h"
#include "engine/backends/cuda/driver/ThreadWork.h"
#include "engine/backends/cuda/nccl/NcclLibrary.h"
#include "engine/device/DeviceNetwork.h"

#include <functional>

namespace npar::engine::cuda {

/// The network of one device. Its communicators are non-blocking: after a call, npar queries the communicator until the call has settled.
class NcclNetwork final : public DeviceNetwork {
public:
  /// `work`: the calling thread's on this device.
  NcclNetwork(const CudaDevice &device, std::function<ThreadWork &()> work) : owner(device), work(std::move(work)) {}
  Result<std::string> name() override;
  Result<std::string> device() override;
  Result<std::vector<uint8_t>> newJob() override;
  Result<std::unique_ptr<DeviceMessages>> join(const std::vector<uint8_t> &job, uint32_t processes, uint32_t process,
                                               const std::function<Status()> &goOn) override;

private:
  const CudaDevice &owner;
  std::function<ThreadWork &()> work;
};

} // namespace npar::engine::cuda
