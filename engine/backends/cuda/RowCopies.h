// Copies between matrices whose rows begin at other distances.
#pragma once

#include "engine/backends/cuda/CudaDevice.h"

namespace npar::engine::cuda {

/// Lines of a matrix, `leading` elements from one to the next.
struct CopiedLines {
  DevicePointer at;
  int64_t leading;
};

/// For elements of 2 and 4 bytes.
class RowCopies {
public:
  /// Loads the kernels.
  static Result<RowCopies> load(CudaDevice &device);
  /// `lines` of `columns` elements each, in the stream.
  Code start(const CopiedLines &target, const CopiedLines &source, int64_t lines, int64_t columns, size_t elementBytes,
             Handle stream) const;

private:
  const CudaDevice *device = nullptr;
  Handle ofTwo = nullptr, ofFour = nullptr;
};

} // namespace npar::engine::cuda
