// A backend without arithmetic or memory: schedules, memory plans and errors of any size are tested on a laptop with it.
#pragma once

#include "engine/backends/Backend.h"

namespace npar::engine {

/// Addresses are numbers that nobody follows; the executor advances a virtual clock by the planned times instead of working.
/// To write a backend, copy this folder and fill the bodies in.
class NullBackend final : public Backend {
public:
  std::string name() const override { return "null"; }
  bool computes() const override { return false; }
  Status load(const program::Program &) override { return {}; }
  Result<uint8_t *> allocate(uint64_t) override { return reinterpret_cast<uint8_t *>(uintptr_t{64}); }
  void release(uint8_t *, uint64_t) override {}
  void zero(void *, uint64_t) override {}
  void copy(void *, const void *, uint64_t) override {}
  void reduce(program::ElementType, program::ReduceOp, const void *const *, size_t, void *const *, size_t, uint64_t) override {}
  Status runKernel(uint32_t, void *const *, const int64_t *, uint64_t) override { return {}; }
  Status runMatmul(uint32_t, const void *, const void *, void *, void *) override { return {}; }
};

} // namespace npar::engine
