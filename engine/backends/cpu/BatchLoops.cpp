// Loops over a batch, and how much of a step is worth handing to another worker.
#include "engine/backends/cpu/BatchLoops.h"

#include "engine/program/Words.h"

#include <algorithm>

namespace npar::engine {

namespace {
/// A piece should last about this long, else handing it over costs more than it saves.
constexpr double pieceSeconds = 50e-6;
constexpr double flopsPerSecond = 100e9;
} // namespace

Result<ProductType> productType(program::ElementType type, program::ProductOrder order) {
  switch (type) {
  case program::ElementType::F32:
    return ProductType::F32;
  case program::ElementType::F64:
    return ProductType::F64;
  case program::ElementType::BF16:
    return order == program::ProductOrder::Pairs ? ProductType::BF16Pairs : ProductType::BF16;
  case program::ElementType::F16:
    return ProductType::F16;
  case program::ElementType::I32:
  case program::ElementType::U8:
    break;
  }
  return Status::badInput("is of " + std::string(program::wordOf(type)) + ", which is not multiplied");
}

Result<ProductType> productType(const program::Matmul &matmul, program::ProductOrder order) {
  return matmul.tf32() && matmul.type() == program::ElementType::F32 ? ProductType::TF32 : productType(matmul.type(), order);
}

ProductResult productResult(program::ElementType type) {
  switch (type) {
  case program::ElementType::BF16:
    return ProductResult::BF16;
  case program::ElementType::F16:
    return ProductResult::F16;
  case program::ElementType::F32:
  case program::ElementType::F64:
  case program::ElementType::I32:
  case program::ElementType::U8:
    break;
  }
  return ProductResult::Sums;
}

int64_t piecesOf(double flops, const Spread &spread) {
  if (!spread.splitSteps)
    return 1;
  return std::max<int64_t>(static_cast<int64_t>(std::min(flops / flopsPerSecond / pieceSeconds, 4.0 * spread.threads)), 1);
}

void BatchLoops::addOperand(const flatbuffers::Vector<int64_t> &elements, uint64_t elementBytes) {
  std::vector<int64_t> &bytes = strides.emplace_back(elements.begin(), elements.end());
  for (int64_t &stride : bytes)
    stride *= static_cast<int64_t>(elementBytes);
}

int64_t BatchLoops::count() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

int64_t BatchLoops::offset(int64_t index, size_t operand) const {
  int64_t bytes = 0;
  for (size_t loop = sizes.size(); loop > 0; --loop) {
    bytes += index % sizes[loop - 1] * strides[operand][loop - 1];
    index /= sizes[loop - 1];
  }
  return bytes;
}

} // namespace npar::engine
