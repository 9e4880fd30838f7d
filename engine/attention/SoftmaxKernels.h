// The instruction-set kernels that attention needs in addition to tiles of products (TileKernels.h): they process scores while a panel of
// them is in the first-level cache.
#pragma once

#include "engine/product/TileKernels.h"

#include <cstdint>

namespace npar::engine {

/// Sums and maxima of a row are computed in 16 lanes, element i in lane i mod 16, in ascending order; then lane i takes in lane i + 8 for i
/// < 8, lane i + 4 for i < 4, i + 2, i + 1. Columns are padded to multiples of 32.
constexpr int64_t lanesOfRow = 16, columnUnit = 32;

/// Keys in a block of the forward pass: part of the definition of attention (Attention.h).
constexpr int64_t keysPerBlock = 256;

/// One panel of A's rows of queries against a block of keys; numbers have the sums' type.
struct ScorePanel {
  /// [used, stride], products of q and k.
  const void *scores;
  int64_t stride;
  int used;
  /// Number of keys of the block that each row sees: the keys before that number.
  const int64_t *visible;
  /// Number of probabilities to write per row: a multiple of 32, at least the largest `visible`. Probabilities of keys that are not visible
  /// are 0.
  int64_t columns;
  double scale;
  /// Factors, laid out like the scores, by which written probabilities are multiplied, but not those in the sum; null: none.
  const void *factors = nullptr;
  /// Running values of each row. `decay`, an output with room for a multiple of 16 rows, is the factor for the row's earlier out.
  void *max, *sum, *decay;
  /// [rows, columns] as a panel of A, in a product's operand type.
  void *probabilities;
};

/// One panel of A's rows of keys against a block of queries: columns [begin, end), multiples of 32.
struct GradientPanel {
  /// [used, stride]: products of k and q, which stay unchanged, and of v and dout, which become the gradients of the scores.
  const void *scores;
  void *gradients;
  int64_t stride;
  int used;
  int64_t begin, end;
  /// The first query, for each row, that sees the key.
  const int64_t *firstSeen;
  double scale;
  /// Factors, laid out like the scores, for the written probabilities and the gradients dp; null: none.
  const void *factors = nullptr;
  /// Values of each query, [end]: the logarithm of its sum of exponentials, and the product of its rows of dout and out.
  const void *lse, *dot;
  /// [rows, end] as a panel of A.
  void *probabilities;
};

struct SoftmaxKernels {
  /// Updates the running maxima and sums with the panel's scores and writes exp(scale * score - maximum).
  void (*softmax)(const ScorePanel &panel);
  /// out[r, c] = fma(out[r, c], decay[r], product[r, c]) for r < used; both [rows, stride], stride a multiple of a vector's lanes.
  void (*rescale)(const void *product, void *out, int64_t stride, const void *decay, int used);
  /// Writes p = exp(scale * score - lse) and replaces the gradients dp by p * (dp - dot).
  void (*differentiate)(const GradientPanel &panel);
  /// Writes columns [begin, end) of rows of gradients, rounded, as a panel of A, and as rows [k, k + used) of panels of B with `depth` of
  /// k.
  void (*pack)(const void *gradients, int64_t stride, int used, int64_t begin, int64_t end, void *panelOfA, void *panelsOfB, int64_t k,
               int64_t depth);
  /// Sum over `count` elements of a[i] * b[i], in the operands' storage type, by fma in 16 lanes.
  double (*dot)(const void *a, const void *b, int64_t count);
  /// to[i] = round(sums[i] * factor + 0 [+ to[i]]); `wide`: `to` has the sums' type.
  void (*store)(const void *sums, int64_t count, double factor, void *to, bool wide, bool accumulate);
  /// exp of `count` numbers, a multiple of 16, in place.
  void (*exponential)(void *values, int64_t count);
};

const SoftmaxKernels &softmaxKernels(InstructionSet set, ProductType type);

const SoftmaxKernels &plainSoftmax(ProductType type);
const SoftmaxKernels &avx2Softmax(ProductType type);
const SoftmaxKernels &avx512Softmax(ProductType type);
/// The first exists for BF16 only, the second for BF16Pairs only.
const SoftmaxKernels &tilesSoftmax();
const SoftmaxKernels &pairsSoftmax();

} // namespace npar::engine
