// The matrix products of a program on a GPU. One way to do them, npar's own kernels; a library's would stand behind the same calls.
#pragma once

#include "engine/backends/cuda/ProductText.h"
#include "engine/backends/cuda/ThreadWork.h"

namespace npar::engine::cuda {

class CudaProducts {
public:
  /// Loads a kernel for each kind of product that the program has. Refuses what backends/cpu/Products refuses.
  Status load(const program::Program &program, CudaDevice &device);
  /// C (+)= A B for every index of the batch list, in the thread's stream, with the bits of the processor.
  void start(uint32_t product, DevicePointer a, DevicePointer b, DevicePointer c, ThreadWork &work) const;

private:
  struct Loop {
    int64_t size, a, b, c;
  };
  struct Product {
    Handle function = nullptr;
    ProductParameters parameters = {};
    int64_t bytes, resultBytes;
    std::vector<Loop> outer; ///< loops of the batch that are launches
    int64_t inner = 1;       ///< indices of a launch
    std::string words;
  };
  Status add(const program::Matmul &matmul, const std::string &what);

  const CudaDevice *device = nullptr;
  std::vector<Product> products;
};

} // namespace npar::engine::cuda
