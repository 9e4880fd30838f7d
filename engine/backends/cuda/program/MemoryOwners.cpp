// A table of ranges that threads read together.
#include "engine/backends/cuda/program/MemoryOwners.h"

#include <algorithm>
#include <mutex>

namespace npar::engine::cuda {

MemoryOwners &MemoryOwners::all() {
  static auto *owners = new MemoryOwners; // threads may ask to the process's end
  return *owners;
}

void MemoryOwners::add(DevicePointer begin, uint64_t bytes, int ordinal) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  ranges[begin] = {begin + std::max<uint64_t>(bytes, 1), ordinal};
}

void MemoryOwners::remove(DevicePointer begin) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  ranges.erase(begin);
}

int MemoryOwners::find(DevicePointer address) {
  std::shared_lock<std::shared_mutex> lock(mutex);
  auto after = ranges.upper_bound(address);
  return after != ranges.begin() && address < std::prev(after)->second.end ? std::prev(after)->second.ordinal : -1;
}

} // namespace npar::engine::cuda
