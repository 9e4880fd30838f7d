// Copies between matrices whose rows begin at other distances.
#pragma once

#include "engine/backends/cuda/driver/CudaDevice.h"

namespace npar::engine::cuda {

/// Lines of a matrix, `leading` elements from one to the next.
struct CopiedLines {
  DevicePointer at;
  int64_t leading;
};

/// The module of the kernels.
std::string rowCopiesText();

/// For elements of 2 and 4 bytes. Of 2 bytes, lines that begin at odd places are written in pieces of 16 bytes nevertheless.
class RowCopies {
public:
  /// Loads the kernels.
  static Result<RowCopies> load(CudaDevice &device);
  /// `lines` of `columns` elements each, in the stream.
  Code start(const CopiedLines &target, const CopiedLines &source, int64_t lines, int64_t columns, size_t elementBytes,
             Handle stream) const;
  Code zero(DevicePointer target, uint64_t bytes, Handle stream) const {
    return device->cuda().call().setBytesAsync(target, 0, bytes, stream);
  }

private:
  const CudaDevice *device = nullptr;
  Handle ofTwo = nullptr, ofFour = nullptr, toOdd = nullptr;
};

} // namespace npar::engine::cuda
