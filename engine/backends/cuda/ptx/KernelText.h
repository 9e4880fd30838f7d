// The device object of a program for GPUs: which kernels it has and how they are launched (compiler/codegen/device/DeviceKernels.h).
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace npar::engine::cuda {

struct KernelBuffer {
  std::string type; ///< "f32", "bf16", ...
  size_t count = 0;
  size_t elementBytes() const;
  size_t bytes() const { return count * elementBytes(); }
};

struct GpuKernel {
  std::string name;
  bool many = false; ///< it does many blocks of scores at once
  unsigned threads = 0, rows = 0;
  int64_t extent = 0;
  std::vector<KernelBuffer> buffers; ///< operands, then results
  size_t operands = 0;
  std::vector<std::pair<size_t, size_t>> inplace; ///< result, operand
};

/// Reads the lines before the PTX.
Result<std::vector<GpuKernel>> readKernelLines(const std::string &text);

} // namespace npar::engine::cuda
