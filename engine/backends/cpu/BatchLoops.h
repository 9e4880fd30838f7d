// What matrix products and attention have in common: element types, loops over a batch, and pieces of a step for the workers.
#pragma once

#include "engine/device/Backend.h"
#include "engine/product/TileKernels.h"

#include <vector>

namespace npar::engine {

/// The arithmetic of a type; an error where it is not multiplied.
Result<ProductType> productType(program::ElementType type);
Result<ProductType> productType(const program::Matmul &matmul);

/// In how many pieces a step of so many floating-point operations should be spread.
int64_t piecesOf(double flops, const Spread &spread);

/// Loops over a list of sizes, the last one innermost, by which the operands of a step move.
class BatchLoops {
public:
  BatchLoops() = default;
  /// Of each operand an element stride for each loop, and the bytes of an element.
  void addOperand(const flatbuffers::Vector<int64_t> &strides, uint64_t elementBytes);
  void setSizes(const flatbuffers::Vector<int64_t> &sizes) { this->sizes.assign(sizes.begin(), sizes.end()); }
  /// The product of the sizes.
  int64_t count() const;
  /// Bytes from an operand's first element to the first at an index of the loops.
  int64_t offset(int64_t index, size_t operand) const;

private:
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> strides; ///< in bytes
};

} // namespace npar::engine
