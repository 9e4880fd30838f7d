// The order of what one thread starts on several GPUs: streams follow each other by events where the thread goes on elsewhere.
#pragma once

#include "engine/backends/cuda/program/CudaBackend.h"

namespace npar::engine::cuda {

/// Of one thread. What it starts happens in this order up to `whenDone`, whichever GPUs it is on; what comes after that waits for nothing,
/// so that ranks on different GPUs do not wait for each other where a worker starts their steps in turn.
class DeviceOrder {
public:
  using Gpus = std::vector<std::unique_ptr<CudaBackend>>;

  explicit DeviceOrder(const Gpus &gpus) : gpus(gpus), events(gpus.size()), used(gpus.size()) {}
  /// Nothing may be under way.
  ~DeviceOrder();
  DeviceOrder(const DeviceOrder &) = delete;

  /// What the thread starts next on these is behind all that it has started; between them there is no order until the next call.
  void goOn(const std::vector<size_t> &on);
  void goOn(size_t on) {
    if (newest.size() == 1 && newest[0] == on)
      return;
    goOn(std::vector<size_t>{on});
  }
  /// Something could not be started on any GPU.
  void note(const Status &status);
  /// Completes when all that the thread has started since the last call is done on every GPU.
  void whenDone(Completion &completion);

private:
  const Gpus &gpus;
  std::vector<Handle> events; ///< by GPU: its stream's, recorded anew whenever others are to follow; null: not made yet
  std::vector<bool> used;     ///< since the last `whenDone`
  std::vector<size_t> newest; ///< whose streams together are behind all that was started since then
  Status failed;
};

} // namespace npar::engine::cuda
