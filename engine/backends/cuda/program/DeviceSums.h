// Reductions over several GPUs: each adds up its slice of the elements, so that all of them and their links work at once.
#pragma once

#include "engine/backends/cuda/program/DeviceOrder.h"

namespace npar::engine::cuda {

/// A place and the GPU whose memory it is.
struct PlacedAddress {
  DeviceAddress address;
  size_t device = 0;
};

/// A GPU pulls into memory of its own what the others have of its slice, adds up in the order of the sources (RULES.md#N5) and pushes the
/// sum to the targets of others. No kernel follows an address of another GPU. That memory is one for all threads and passes from stream to
/// stream by an event.
class DeviceSums {
public:
  explicit DeviceSums(const DeviceOrder::Gpus &gpus) : gpus(gpus) {}
  ~DeviceSums();
  DeviceSums(const DeviceSums &) = delete;

  /// Allocates this many bytes on each GPU. Larger reductions are done in rounds.
  Status reserve(uint64_t bytes);
  /// Does what Backend::reduce does, with operands on several GPUs.
  void start(program::ElementType type, program::ReduceOp op, const std::vector<PlacedAddress> &sources,
             const std::vector<PlacedAddress> &targets, uint64_t count, DeviceOrder &order);

private:
  struct Room {
    DevicePointer memory = 0;
    Handle given = nullptr; ///< the event after which the memory is free
    bool wasUsed = false;
  };
  struct Sum; ///< of `start`

  void addSlice(const Sum &sum, size_t device, uint64_t first, uint64_t count);

  const DeviceOrder::Gpus &gpus;
  std::mutex mutex; ///< of the turns of all rooms: reductions of two threads take those of several GPUs in one order
  std::vector<Room> rooms;
  uint64_t roomBytes = 0;
};

} // namespace npar::engine::cuda
