// The CUDA driver's functions that running a kernel takes, found at run time: neither the toolkit nor a GPU is needed to build this.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

/// The first GPU of libcuda.so.1, or of the library that the environment's NPAR_CUDA_DRIVER names. Every call that fails ends the program
/// with the driver's words: there is nothing to be learned from what would follow.
class CudaDriver {
public:
  using Address = uint64_t;
  using Handle = void *;
  enum class Attribute { SharedBytes = 1, LocalBytes = 3, Registers = 4 };

  /// Fails without a driver or without a GPU, and names which is missing.
  static Result<CudaDriver> open();

  const std::string &name() const { return deviceName; }
  /// PTX or machine code; the driver assembles the one and refuses the other where it does not fit the device.
  Handle loadModule(const std::string &code) const;
  Handle function(Handle module, const std::string &name) const;
  int attribute(Handle function, Attribute which) const;
  Address allocate(size_t bytes) const;
  void release(Address memory) const;
  void copyIn(Address target, const void *source, size_t bytes) const;
  void copyOut(void *target, Address source, size_t bytes) const;
  /// Starts `count` launches and waits for them; returns the seconds of one.
  double run(Handle function, unsigned blocks, unsigned threads, void **arguments, int count = 1) const;

private:
  struct Functions;
  CudaDriver() = default;
  const Functions *driver = nullptr;
  Handle stream = nullptr; ///< of everything: the default stream orders too much
  std::string deviceName;
};

} // namespace npar::engine
