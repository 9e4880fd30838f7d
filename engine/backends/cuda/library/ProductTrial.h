// Chooses the library's algorithm for products of a shape, by trying algorithms on random operands while a program is loaded.
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

/// Returns the library's fastest algorithm whose bits repeat, whose results are close to npar's own, and which agrees with npar's bits or,
/// if none does, with the first algorithm of the library's list. Close means: no TF32 unless the shape asks for it, whatever the
/// environment asks of the library, and never 16 bits. The bits thus do not depend on times. If results are too small to tell orders of
/// sums apart, the first algorithm of the list is taken. Returns nothing if no algorithm qualifies. Allocates operands while it runs;
/// `workspaceBytes` is the largest workspace of an algorithm.
Result<std::optional<ProductChoice>> tryProduct(const CudaDevice &device, const LibraryProduct &product, const OwnProduct &own,
                                                uint64_t workspaceBytes, const std::string &what);

} // namespace npar::engine::cuda
