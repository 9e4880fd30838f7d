// Which GPU a device address belongs to, in a process that drives several.
#pragma once

#include "engine/backends/cuda/driver/CudaAbi.h"

#include <map>
#include <shared_mutex>

namespace npar::engine::cuda {

/// Every GPU's addresses are other ones (unified addressing), so one table has the memory of all backends that drive several. Any thread
/// may call.
class MemoryOwners {
public:
  /// The process's.
  static MemoryOwners &all();
  void add(DevicePointer begin, uint64_t bytes, int ordinal);
  void remove(DevicePointer begin);
  /// The ordinal of the GPU; -1: nobody has added it.
  int find(DevicePointer address);

private:
  struct Range {
    DevicePointer end;
    int ordinal;
  };
  std::shared_mutex mutex;
  std::map<DevicePointer, Range> ranges; ///< by their beginnings
};

} // namespace npar::engine::cuda
