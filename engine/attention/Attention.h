// Softmax attention that never stores the matrix of queries by keys, forward and backward (Milakov, Gimelshein: Online normalizer
// calculation for softmax, 2018; Dao: FlashAttention-2, 2023), and whose bits are npar's own. One object computes one key head of one
// sample; its caller loops.
#pragma once

#include "engine/attention/SoftmaxKernels.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace npar::engine {

/// Strides in elements, from row to row and from one head of the group to the next; the last axis has no gaps.
struct RowStrides {
  int64_t row, head = 0;
};

/// Rows that are contiguous both in memory and in the sequence: [at, at + count) have the positions `position`, `position` + 1, ...
struct PositionRun {
  int64_t at, count, position;
};

/// q, dq: [groups, queries, width]; k, dk: [keys, width]; v, dv: [keys, valueWidth]; out, dout: [groups, queries, valueWidth]. All sizes
/// >= 1.
struct AttentionShape {
  /// Element type of q, k, v, out, dout. Sums and running values are float32, or float64 for F64.
  ProductType type;
  int64_t queries, keys, width, valueWidth;
  /// Number of heads of queries that attend to the same keys.
  int64_t groups = 1;
  RowStrides q, k, v, out, dout, dq, dk, dv;
  double scale = 1;
  /// If true, a query sees only keys whose position is no larger than its own; otherwise it sees all.
  bool causal = false;
  /// Keys that the modifier is certain to mask: more than `back` positions before a query, or more than `ahead` after it. Blocks of only
  /// such keys are skipped, which changes no bit.
  int64_t back = std::numeric_limits<int64_t>::max() / 2, ahead = std::numeric_limits<int64_t>::max() / 2;
  /// Positions of queries and keys: runs ascending by position that contain each of them once. Empty: row i has position i.
  std::vector<PositionRun> queryRuns = {}, keyRuns = {};
};

/// Some scores of one head while they are in the cache: [queries, keys], of the sums' type; one of the strides is 1. Queries and keys are
/// identified by position or, with `byRow`, by row in memory; both are contiguous in that order.
struct ScoreBlock {
  void *scores;
  int64_t queryStride, keyStride;
  int64_t head, firstQuery, firstKey, queries, keys;
  /// Output of a modifier that `drops`, laid out like the scores: factors by which probabilities are multiplied before the product with v
  /// (0, or 1 over the share that is kept). The sum that divides probabilities includes all of them.
  void *factors = nullptr;
  /// The first query of the block that sees each key; backward only.
  const int64_t *firstSeen = nullptr;
};

/// A change to scores after `scale`, such as a bias, a soft cap or a mask (minus infinity), element by element. Called by several threads.
struct ScoreModifier {
  void (*modify)(const void *context, const ScoreBlock &block) = nullptr;
  /// Turns gradients of modified scores, laid out like `block.scores`, into gradients of `block.scores`. Null: they are equal.
  void (*differentiate)(const void *context, const ScoreBlock &block, void *gradients) = nullptr;
  const void *context = nullptr;
  /// Identifies queries and keys of a block by their rows, starting at a panel's first row. Rows of scores forward, and of their transpose
  /// backward, are then `min(256, count rounded up to 32)` elements apart, where count is the number of all keys forward, of all queries
  /// backward. Values written outside of a block are not read.
  bool byRow = false;
  bool drops = false;
};

struct ForwardOperands {
  const void *q, *k, *v;
  /// Outputs, written unless `after` is set. lse: [groups, queries] without gaps, of the sums' type: logarithm of the sum of exponentials.
  void *out, *lse;
  /// Keys may come in several calls, in any order. Every call except the first continues the softmax `before`; every call except the last
  /// writes it to `after`, and neither out nor lse. Both hold rows of the sums' type without gaps, [groups, queries, valueWidth + 2]:
  /// exponentials times values, then their maximum and their sum. They may be the same memory.
  const void *before = nullptr;
  void *after = nullptr;
  ScoreModifier modifier = {};
  /// Added to the positions of queries, when the rows continue a sequence whose keys were kept.
  int64_t firstPosition = 0;
};

struct BackwardOperands {
  const void *q, *k, *v;
  /// `dot`: the sums over dout * out as SoftmaxKernels.h adds them, [groups, queries] without gaps, of the sums' type. If it is null, they
  /// are computed from `out`, which may otherwise be null.
  const void *out, *dot, *dout, *lse;
  void *dq, *dk, *dv;
  /// wide: gradients have the sums' type rather than the shape's. accumulate: they are added to the memory's contents (for keys that come
  /// in several calls).
  bool wide = false, accumulate = false;
  ScoreModifier modifier = {};
};

/// A shape planned for an instruction set.
struct AttentionPlan {
  AttentionPlan(const AttentionShape &shape, InstructionSet set);
  int64_t positionOf(int64_t query) const;
  /// Positions of the last and the first of some queries, at least one.
  int64_t lastPosition(int64_t first, int64_t end) const;
  int64_t firstPosition(int64_t first, int64_t end) const;
  /// True if queries at positions from `first` to `last` see none of these keys.
  bool isFar(int64_t first, int64_t last, int64_t keyPosition, int64_t keys) const {
    return keyPosition + keys - 1 < first - shape.back || keyPosition > last + shape.ahead;
  }
  /// Number of keys that a query sees of a run that starts at `keyPosition`; may be negative, or more than the run has.
  int64_t seenFrom(int64_t position, int64_t keyPosition) const;
  /// True for one query per head: keys are then multiplied in place, without packing. So are values, if their products take a panel's row.
  bool isThin() const { return shape.queries == 1 && tiles.rows >= 4; }
  bool isThinForValues() const { return isThin() && tiles.widenPanelRow; }

  AttentionShape shape;
  const TileKernels &tiles, &thin;
  const SoftmaxKernels &kernels;
  int64_t elementBytes, sumBytes;
  /// Queries of each head in a part, forward; queries and keys of a block, backward.
  int64_t queriesPerPart, queriesPerBlock, keysPerGradientBlock;
};

/// The definition. x = scale * s, rounded, s being the product of q and k as TileKernels.h defines it for the type, then `modify`.
///
/// Forward, for each query by itself: the runs of keys in blocks of `keysPerBlock`, of each those that it sees. With
/// M = max(m, all x of the block) (NaN is passed over) and M' = M, or 0 where M is minus infinity:
///   p = exp(x - M'), decay = exp(m - M'), sum = sum * decay + (sum of p in lanes), out = fma(out, decay, product of round(p) and v), m = M
/// (p times its factor, rounded, where the modifier drops)
/// from m = minus infinity, sum = 0, out = 0. The product over the block's keys is that of TileKernels.h with p rounded to the type. In the
/// end out = round(out * (1 / sum) + 0), lse = m + log(sum); where sum is 0 (nothing is seen, or all masked) out = 0 and lse = minus
/// infinity. So a row depends on its q, on keys and values, and on no other query.
///
/// Backward: p = exp(x - lse), 0 where lse is minus infinity or the key is not seen; dp = product of dout and v; ds = p * (dp - dot), then
/// `differentiate`; with factors f p goes to dv as p * f, and ds = p * (f * dp - dot); products over the runs of keys, or over heads and in
/// these over the runs of queries (BF16, BF16Pairs: each head and run starts a new group of 32 or a new pair):
///   dq = round(product(round(ds), k) * scale + 0), dk = round(product(round(ds), q) * scale + 0), dv = round(product(round(p), dout) + 0)
///
/// exp is that of SoftmaxKernels.inc. Keys that are not seen may be added with probability 0: that changes no more than the sign of zeros,
/// which `+ 0` makes positive. So operands must be finite: a non-finite one may or may not reach rows that do not see it.
class Attention {
public:
  Attention(const AttentionShape &shape, InstructionSet set) : plan(shape, set) {}

  /// Parts can run at the same time, in any order, on any thread, each with scratch of its own, aligned to 64. No call allocates memory or
  /// locks.
  int forwardParts() const;
  uint64_t forwardScratch() const;
  void forward(int part, const ForwardOperands &operands, void *scratch) const;

  /// Computes one part; the scratch holds the sums of dk and dv.
  uint64_t backwardScratch() const;
  void backward(const BackwardOperands &operands, void *scratch) const;

private:
  AttentionPlan plan;
};

} // namespace npar::engine
