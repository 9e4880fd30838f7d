// A backend without arithmetic or memory, for tests of schedules, memory plans and errors of any size on a laptop.
#pragma once

#include "engine/device/Backend.h"

namespace npar::engine {

/// Addresses are numbers; the executor advances a virtual clock by the planned times instead of working. A new backend starts as a copy of
/// this folder, with the bodies filled in.
class NullBackend final : public Backend {
public:
  std::string name() const override { return "null"; }
  bool computes() const override { return false; }
  bool asynchronous() const override { return false; }
  Status load(const program::Program &) override { return {}; }
  void enterThread() override {}
  Result<DeviceAddress> allocate(uint64_t) override { return DeviceAddress() + 64; }
  void release(DeviceAddress, uint64_t) override {}
  Result<DeviceAddress> allocateIn(program::Tier, size_t, uint64_t, const std::string &) override { return DeviceAddress() + 64; }
  void copyIn(DeviceAddress, const void *, uint64_t) override {}
  void copyOut(void *, DeviceAddress, uint64_t) override {}
  void zero(DeviceAddress, uint64_t) override {}
  void copy(DeviceAddress, DeviceAddress, uint64_t) override {}
  void reduce(program::ElementType, program::ReduceOp, const DeviceAddress *, size_t, const DeviceAddress *, size_t, uint64_t) override {}
  Status runKernel(uint32_t, const DeviceAddress *, size_t, const int64_t *, uint64_t) override { return {}; }
  Status runMatmul(uint32_t, DeviceAddress, DeviceAddress, DeviceAddress) override { return {}; }
  Status runGrouped(uint32_t, const DeviceAddress *) override { return {}; }
  Status runAttention(uint32_t, const DeviceAddress *, size_t, const int64_t *) override { return {}; }
  void whenDone(Completion &completion) override { completion.completed({}); }
};

} // namespace npar::engine
