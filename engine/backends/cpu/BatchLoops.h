// Shared parts of matrix products and attention: element types, loops over a batch, and the number of pieces of a step.
#pragma once

#include "engine/device/Backend.h"
#include "engine/product/TileKernels.h"

#include <vector>

namespace npar::engine {

/// The arithmetic of a type; an error if products do not support the type. `order` is that of bf16, and not Fastest.
Result<ProductType> productType(program::ElementType type, program::ProductOrder order);
Result<ProductType> productType(const program::Matmul &matmul, program::ProductOrder order);
/// The type in which a product stores its sums.
ProductResult productResult(program::ElementType type);

/// Number of pieces into which a step of `flops` floating-point operations should be divided.
int64_t piecesOf(double flops, const Spread &spread);

/// Loops over a list of sizes, the last one innermost, which advance the operands of a step.
class BatchLoops {
public:
  BatchLoops() = default;
  /// Adds an operand by its stride in elements for each loop, and the bytes of an element.
  void addOperand(const flatbuffers::Vector<int64_t> &strides, uint64_t elementBytes);
  void setSizes(const flatbuffers::Vector<int64_t> &sizes) { this->sizes.assign(sizes.begin(), sizes.end()); }
  /// The product of the sizes.
  int64_t count() const;
  /// Bytes from an operand's first element to the first at an index of the loops.
  int64_t offset(int64_t index, size_t operand) const;

private:
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> strides; ///< strides in bytes
};

} // namespace npar::engine
