// Softmax attention that never stores the matrix of queries by keys, forward and backward (Milakov, Gimelshein: Online normalizer
// calculation for softmax, 2018; Dao: FlashAttention-2, 2023), and whose bits are npar's own. One object does one key head of one sample;
// its caller loops.
#pragma once

#include "engine/attention/SoftmaxKernels.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace npar::engine {

/// In elements, from row to row and from one head of the group to the next; the last axis has no gaps.
struct RowStrides {
  int64_t row, head = 0;
};

/// Neighbours in memory that are neighbours in the sequence: rows [at, at + count) stand at positions from `position` on.
struct PositionRun {
  int64_t at, count, position;
};

/// q, dq: [groups, queries, width]; k, dk: [keys, width]; v, dv: [keys, valueWidth]; out, dout: [groups, queries, valueWidth]. All sizes
/// >= 1.
struct AttentionShape {
  /// Of q, k, v, out, dout. Sums and running numbers are float32, float64 for F64.
  ProductType type;
  int64_t queries, keys, width, valueWidth;
  /// Heads of queries that attend to the same keys.
  int64_t groups = 1;
  RowStrides q, k, v, out, dout, dq, dk, dv;
  double scale = 1;
  /// A query sees the keys whose position is no larger than its own; else it sees all.
  bool causal = false;
  /// What a modifier masks for certain: keys that stand more than `back` before a query, or more than `ahead` after it. Blocks of such keys
  /// are left out, which changes no bit.
  int64_t back = std::numeric_limits<int64_t>::max() / 2, ahead = std::numeric_limits<int64_t>::max() / 2;
  /// Where queries and keys stand: runs in ascending order of positions that hold each of them once. Empty: row i stands at i.
  std::vector<PositionRun> queryRuns = {}, keyRuns = {};
};

/// Some scores of one head while they are in the cache: [queries, keys], of the sums' type, one of the strides being 1. Queries and keys
/// are told by their positions, or `byRow` by their rows in memory: those of queries are neighbours there, and so are those of keys.
struct ScoreBlock {
  void *scores;
  int64_t queryStride, keyStride;
  int64_t head, firstQuery, firstKey, queries, keys;
  /// As scores lie, where the modifier `drops`: to be written, what a probability is multiplied by on its way to v (0, or 1 over the share
  /// that is kept). The sum that divides probabilities is that of all.
  void *factors = nullptr;
  /// Backward, of each key: the first query of the block that sees it.
  const int64_t *firstSeen = nullptr;
};

/// What is done to scores after `scale`: a bias, a soft cap, a mask (minus infinity), element by element, called by several threads.
struct ScoreModifier {
  void (*modify)(const void *context, const ScoreBlock &block) = nullptr;
  /// Turns gradients of modified scores, which lie as `block.scores` does, into those of `block.scores`. Null: they are equal.
  void (*differentiate)(const void *context, const ScoreBlock &block, void *gradients) = nullptr;
  const void *context = nullptr;
  /// Blocks are of queries and keys by their rows, from the first of a panel on: forward rows of scores, backward rows of their transpose
  /// lie `min(256, count rounded up to 32)` apart, of the keys or queries that there are. What is written beyond a block is not read.
  bool byRow = false;
  bool drops = false;
};

struct ForwardOperands {
  const void *q, *k, *v;
  /// Written where `ends`. lse: [groups, queries] without gaps, of the sums' type: logarithm of the sum of exponentials.
  void *out, *lse;
  /// The keys may come in several calls, in ascending order or any other: all but the first continue the softmax `before`, all but the
  /// last write it to `after` and neither out nor lse. Both hold rows of the sums' type without gaps, [groups, queries, valueWidth + 2]:
  /// exponentials times values, then their maximum and their sum. They may be the same memory.
  const void *before = nullptr;
  void *after = nullptr;
  ScoreModifier modifier = {};
  /// Added to the positions of queries: rows that are the next ones of a sequence whose keys were kept.
  int64_t firstPosition = 0;
};

struct BackwardOperands {
  const void *q, *k, *v;
  /// `dot`: the sums over dout * out as SoftmaxKernels.h adds them, [groups, queries] without gaps, of the sums' type; null: taken from
  /// `out`, which else may be null.
  const void *out, *dot, *dout, *lse;
  void *dq, *dk, *dv;
  /// Gradients are of the sums' type rather than the shape's; they are added to what is there (of keys that come in several calls).
  bool wide = false, accumulate = false;
  ScoreModifier modifier = {};
};

/// A shape planned for an instruction set.
struct AttentionPlan {
  AttentionPlan(const AttentionShape &shape, InstructionSet set);
  int64_t positionOf(int64_t query) const;
  /// The last of some queries, one at least, and the first.
  int64_t lastPosition(int64_t first, int64_t end) const;
  int64_t firstPosition(int64_t first, int64_t end) const;
  /// Whether queries at positions from `first` to `last` see none of some keys.
  bool isFar(int64_t first, int64_t last, int64_t keyPosition, int64_t keys) const {
    return keyPosition + keys - 1 < first - shape.back || keyPosition > last + shape.ahead;
  }
  /// How many keys of a run from the one at `keyPosition` on a query sees; may be negative, or more than there are.
  int64_t seenFrom(int64_t position, int64_t keyPosition) const;
  /// Of one query per head keys are multiplied with where they lie.
  bool isThin() const { return shape.queries == 1 && tiles.rows >= 4; }

  AttentionShape shape;
  const TileKernels &tiles, &thin;
  const SoftmaxKernels &kernels;
  int64_t elementBytes, sumBytes;
  /// Forward of a part, of each head; backward of a block.
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
/// these over the runs of queries (BF16: groups of 32 begin anew with each head and run):
///   dq = round(product(round(ds), k) * scale + 0), dk = round(product(round(ds), q) * scale + 0), dv = round(product(round(p), dout) + 0)
///
/// exp is that of SoftmaxKernels.inc. Keys that are not seen may be added with probability 0: that changes no more than the sign of zeros,
/// which `+ 0` makes positive. So operands shall be finite: one that is not may or may not reach rows that do not see it.
class Attention {
public:
  Attention(const AttentionShape &shape, InstructionSet set) : plan(shape, set) {}

  /// Parts can run at the same time, in any order, on any thread, each with scratch of its own, aligned to 64. No allocation, no lock.
  int forwardParts() const;
  uint64_t forwardScratch() const;
  void forward(int part, const ForwardOperands &operands, void *scratch) const;

  /// One part; the scratch holds the sums of dk and dv.
  uint64_t backwardScratch() const;
  void backward(const BackwardOperands &operands, void *scratch) const;

private:
  AttentionPlan plan;
};

} // namespace npar::engine
