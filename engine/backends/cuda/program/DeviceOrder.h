// The order of the work that one thread starts on several GPUs: when the thread moves to another GPU, the new stream waits for an event.
#pragma once

#include "engine/backends/cuda/program/CudaBackend.h"

namespace npar::engine::cuda {

/// Belongs to one thread. The thread's work runs in the order in which it was started, on whichever GPUs, up to `whenDone`. Later work
/// waits for nothing, so that ranks on different GPUs do not wait for each other when one worker starts their steps in turn.
class DeviceOrder {
public:
  using Gpus = std::vector<std::unique_ptr<CudaBackend>>;

  explicit DeviceOrder(const Gpus &gpus) : gpus(gpus), events(gpus.size()), used(gpus.size()) {}
  /// Nothing may be under way.
  ~DeviceOrder();
  DeviceOrder(const DeviceOrder &) = delete;

  /// The next work on these GPUs runs after all work that the thread has started. It is not ordered among these GPUs until the next call.
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
  std::vector<Handle> events; ///< by GPU: recorded in its stream each time others must wait; null: not created yet
  std::vector<bool> used;     ///< since the last `whenDone`
  std::vector<size_t> newest; ///< whose streams together are behind all that was started since then
  Status failed;
};

} // namespace npar::engine::cuda
