// Which of the library's algorithms multiplies matrices of a shape: tried at load on drawn operands.
#pragma once

#include "engine/backends/cuda/driver/CudaDevice.h"
#include "engine/backends/cuda/library/LibraryProduct.h"

#include <functional>
#include <optional>

namespace npar::engine::cuda {

/// An algorithm that gave the same bits each time.
struct ProductChoice {
  LtAlgorithm algorithm = {};
  uint64_t workspaceBytes = 0;
  double microseconds = 0; ///< of the fastest run
  bool ownBits = false;    ///< they were those of npar's own kernel
};

/// Starts npar's own kernel for the shape.
using OwnProduct = std::function<Code(DevicePointer a, DevicePointer b, DevicePointer c, Handle stream)>;

/// Of the library's algorithms the fastest of those whose bits repeat, whose numbers are near npar's own (no TF32 unless the shape asks for
/// it, whatever the environment asks of the library, and never 16 bits), and which agree: with npar's own bits, or, where none has these,
/// with the first of the library's list. So time chooses no bits; of results that are too small to tell, the first of the list is taken.
/// Nothing where there is none. Takes memory for operands meanwhile; `workspaceBytes` is all that an algorithm may have.
Result<std::optional<ProductChoice>> tryProduct(const CudaDevice &device, const LibraryProduct &product, const OwnProduct &own,
                                                uint64_t workspaceBytes, const std::string &what);

} // namespace npar::engine::cuda
