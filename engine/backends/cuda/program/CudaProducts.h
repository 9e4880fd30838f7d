// The matrix products of a program on a GPU: npar's own kernels, or cuBLASLt where that is asked for.
#pragma once

#include "engine/backends/cuda/driver/ThreadWork.h"
#include "engine/backends/cuda/library/LibraryProducts.h"
#include "engine/backends/cuda/program/WalkedProduct.h"

#include <optional>

namespace npar::engine::cuda {

/// Who multiplies: npar's own kernels, with the processor's bits; cuBLASLt where a trial at load gave npar's own bits ("matching");
/// cuBLASLt wherever it can ("library").
enum class ProductsBy { Own, Matching, Library };
/// Looks it up by its keyword.
Result<ProductsBy> productsBy(const std::string &word);

/// Holds where a product's operands are; `first` and `last` only with groups.
struct ProductAddresses {
  DevicePointer a, b, c, first = 0, last = 0;
};

class CudaProducts {
public:
  /// Loads a kernel for each kind of product that the program has and plans what the library takes. Refuses what backends/cpu/Products
  /// refuses, and where the library is asked for, a machine without it. `threads` will start products.
  Status load(const program::Program &program, CudaDevice &device, ProductsBy by);
  /// C (+)= A B for every index of the batch list, in the thread's stream.
  void start(uint32_t product, ProductAddresses operands, ThreadWork &work) const;

  /// Bytes of device memory that the library's products need in each stream, without their operands.
  uint64_t workspaceBytes() const { return library ? library->workspaceBytes() : 0; }
  /// Notes for the user about how products were planned.
  std::vector<std::string> remarks() const;

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
    std::optional<std::vector<WalkedLaunch>> walks; ///< if windows walk its operands; none where nothing is added to C
    const LibraryProducts::Plan *plan = nullptr;    ///< null: npar's own kernel
    std::vector<Loop> around;                       ///< loops that are launches of the library
  };
  Status add(const program::Matmul &matmul, const std::string &what);
  /// Divides the loops of the batch between a launch and the launches.
  static void setLoops(Product &product, const program::Matmul &matmul);
  Status planLibrary(const program::Program &program, ProductsBy by);
  Status planLibrary(Product &product, const program::Matmul &matmul, std::array<uint32_t, 3> alignments, bool onlyOwnBits);
  Code launch(const Product &product, const ProductAddresses &operands, Handle stream) const;
  Code launchWalks(const Product &product, const ProductAddresses &operands, Handle stream) const;

  CudaDevice *device = nullptr;
  std::vector<Product> products;
  std::unique_ptr<LibraryProducts> library; ///< null: not asked for
};

} // namespace npar::engine::cuda
