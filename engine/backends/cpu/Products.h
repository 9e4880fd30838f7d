// The matrix products of a program on this processor: batches of engine/product's, spread over workers.
#pragma once

#include "engine/backends/cpu/GroupedProducts.h"
#include "engine/backends/cpu/WindowedProducts.h"
#include "engine/backends/cpu/WorkerScratch.h"
#include "engine/device/Backend.h"
#include "engine/product/Product.h"

#include <variant>
#include <vector>

namespace npar::engine {

class Products {
public:
  Products();
  ~Products();
  /// Refuses what is no product: empty ones, element types that are not multiplied, operands of which no stride is 1. `order` is that of
  /// bf16, and not Fastest. NPAR_INSTRUCTIONS masks instruction sets; no bit depends on it, nor on `spread`.
  Status load(const program::Program &program, const Spread &spread, program::ProductOrder order);
  /// C (+)= A B for every index of the batch list.
  void run(uint32_t index, const void *a, const void *b, void *c, WorkerScratch &scratch) const;
  /// The same of a grouped product.
  void runGrouped(uint32_t index, const void *a, const void *b, RowRanges ranges, void *c, WorkerScratch &scratch) const {
    std::get<GroupedProduct>(products[index]).run(a, b, ranges, c, scratch);
  }
  /// Packed operands and sums that a worker holds while it multiplies: the most that any product of the program takes.
  uint64_t bytesPerWorker() const { return scratchBytes; }

private:
  /// A product, and the offsets of its operands in bytes.
  struct Placed {
    Product product;
    int64_t a = 0, b = 0, c = 0;
  };
  /// Products for each index of a batch list: one, or the parts of a windowed one.
  struct Batched {
    std::vector<Placed> products;
    std::vector<ZeroRows> zeros;
    BatchLoops loops; ///< loops of A, B and C
    /// Number of pieces into which the list is divided, with whole products; 0: each product is spread by itself.
    int64_t pieces;
  };
  Status add(const program::Matmul &matmul, ProductType type, const std::string &what, const Spread &spread, InstructionSet set);
  void addBatched(const program::Matmul &matmul, const ProductShape &shape, BatchLoops loops, const Spread &spread, InstructionSet set);

  std::vector<std::variant<Batched, GroupedProduct>> products;
  uint64_t scratchBytes = 0;
};

} // namespace npar::engine
