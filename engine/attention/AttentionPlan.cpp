// Chooses the sizes of blocks and parts, and the kernels.
#include "engine/attention/Attention.h"
#include "engine/attention/Memory.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace npar::engine {

namespace {

/// Rows of a part, which share packed keys and values.
constexpr int64_t rowsPerPart = 512;
/// Queries and keys of a block in the backward pass; its gradients of scores fit into the second-level cache.
constexpr int64_t backwardBlock = 256;

int64_t bytesOf(ProductType type) {
  switch (type) {
  case ProductType::F64:
    return 8;
  case ProductType::F32:
  case ProductType::TF32:
    return 4;
  case ProductType::BF16:
  case ProductType::BF16Pairs:
  case ProductType::F16:
    break;
  }
  return 2;
}

} // namespace

AttentionPlan::AttentionPlan(const AttentionShape &shape, InstructionSet set)
    : shape(shape), tiles(tileKernels(set, shape.type)), thin(thinKernels(set, shape.type, /*bTransposed=*/false)),
      kernels(softmaxKernels(set, shape.type)), elementBytes(bytesOf(shape.type)),
      sumBytes(std::max<int64_t>(elementBytes, sizeof(float))) {
  // Blocks of keys end where panels do, since sums of rows beyond them would be written, and where groups of k do.
  int64_t rows = tiles.rows, unit = std::lcm(rows, columnUnit);
  queriesPerPart = std::max(rowsPerPart / shape.groups / rows, int64_t(1)) * rows;
  queriesPerBlock = backwardBlock;
  keysPerGradientBlock = std::max(backwardBlock / unit, int64_t(1)) * unit;
  if (shape.queryRuns.empty())
    this->shape.queryRuns = {{0, shape.queries, 0}};
  if (shape.keyRuns.empty())
    this->shape.keyRuns = {{0, shape.keys, 0}};
}

int64_t AttentionPlan::positionOf(int64_t query) const { return lastPosition(query, query + 1); }

int64_t AttentionPlan::lastPosition(int64_t first, int64_t end) const {
  int64_t last = std::numeric_limits<int64_t>::min();
  for (const PositionRun &run : shape.queryRuns)
    if (first < run.at + run.count && run.at < end)
      last = std::max(last, run.position + std::min(end, run.at + run.count) - 1 - run.at);
  return last;
}

int64_t AttentionPlan::firstPosition(int64_t first, int64_t end) const {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const PositionRun &run : shape.queryRuns)
    if (first < run.at + run.count && run.at < end)
      least = std::min(least, run.position + std::max(first, run.at) - run.at);
  return least;
}

int64_t AttentionPlan::seenFrom(int64_t position, int64_t keyPosition) const {
  return shape.causal ? position - keyPosition + 1 : std::numeric_limits<int64_t>::max();
}

const SoftmaxKernels &softmaxKernels(InstructionSet set, ProductType type) {
  switch (ownSet(set, type)) {
  case InstructionSet::Tiles:
    return tilesSoftmax();
  case InstructionSet::Pairs:
    return pairsSoftmax();
  case InstructionSet::Avx512:
    return avx512Softmax(type);
  case InstructionSet::Avx2:
    return avx2Softmax(type);
  case InstructionSet::Plain:
    break;
  }
  return plainSoftmax(type);
}

} // namespace npar::engine
