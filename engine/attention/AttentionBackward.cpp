// Attention backward: for each head and block of queries all blocks of keys that it sees, five products for each pair of blocks. Scores are
// computed with keys down and queries across, so that probabilities and gradients of scores come out as panels of the products after them:
//
//   s^T = k q^T, dp^T = v dout^T       [keys, queries]   a panel of keys at a time
//   dv += p^T dout, dk += ds^T q       [keys, features]  p^T and ds^T as panels of A
//   dq^T += k^T ds^T                   [features, queries]  ds^T as panels of B
#include "engine/attention/Attention.h"
#include "engine/attention/Memory.h"
#include "engine/attention/Scores.h"
#include "engine/product/FloatControl.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace npar::engine {

namespace {

/// Zeroes columns [from, to) of some rows.
void zeroColumns(char *rows, int64_t count, int64_t stride, int64_t from, int64_t to, int64_t bytes) {
  for (int64_t r = 0; r < count && from < to; ++r)
    std::memset(rows + (r * stride + from) * bytes, 0, size_t((to - from) * bytes));
}

/// Minus infinity, where nothing is seen, becomes infinity: all probabilities are 0. So they are for queries that only fill a block up.
template <class T> void setLse(const void *lse, int64_t count, int64_t filled, char *to) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  T *own = reinterpret_cast<T *>(to);
  for (int64_t i = 0; i < filled; ++i) {
    T value = i < count ? static_cast<const T *>(lse)[i] : infinity;
    own[i] = value == -infinity ? infinity : value;
  }
}

template <class T> void turnColumn(const char *sums, int64_t column, int64_t stride, int64_t count, char *to) {
  for (int64_t i = 0; i < count; ++i)
    reinterpret_cast<T *>(to)[i] = reinterpret_cast<const T *>(sums)[i * stride + column];
}

struct BackwardMemory {
  BackwardMemory(const AttentionPlan &a, void *memory) : pieces(memory) {
    const TileKernels &t = a.tiles;
    const AttentionShape &s = a.shape;
    keys = std::min(a.keysPerGradientBlock, roundUp(s.keys, t.rows));
    queries = std::min(a.queriesPerBlock, roundUp(s.queries, columnUnit));
    width = roundUp(s.width, t.columns), valueWidth = roundUp(s.valueWidth, t.columns);
    int64_t depth = roundUp(s.width, t.group), valueDepth = roundUp(s.valueWidth, t.group), keyDepth = roundUp(keys, t.group);
    int64_t across = roundUp(queries, t.columns), down = roundUp(queries, t.group);
    qAcross = pieces.take(across * depth * t.packedBytes);
    doutAcross = pieces.take(across * valueDepth * t.packedBytes);
    q = pieces.take(down * width * t.packedBytes);
    dout = pieces.take(down * valueWidth * t.packedBytes);
    lse = pieces.take(queries * a.sumBytes);
    dot = pieces.take(queries * a.sumBytes);
    dqDown = pieces.take(roundUp(s.width, t.rows) * queries * a.sumBytes);
    row = pieces.take(width * a.sumBytes);
    k = pieces.take(roundUp(keys, t.rows) * depth * t.packedBytes);
    v = pieces.take(roundUp(keys, t.rows) * valueDepth * t.packedBytes);
    kDown = pieces.take(roundUp(s.width, t.rows) * keyDepth * t.packedBytes);
    scores = pieces.take(t.rows * queries * a.sumBytes);
    unmodified = pieces.take(t.rows * queries * a.sumBytes);
    gradients = pieces.take(t.rows * queries * a.sumBytes);
    factors = pieces.take(t.rows * queries * a.sumBytes);
    probabilities = pieces.take(t.rows * queries * t.packedBytes);
    gradientsOfA = pieces.take(t.rows * queries * t.packedBytes);
    gradientsOfB = pieces.take(across * keyDepth * t.packedBytes);
    firstSeen = reinterpret_cast<int64_t *>(pieces.take(t.rows * int64_t(sizeof(int64_t))));
    for (const PositionRun &run : s.keyRuns)
      keyRows += roundUp(run.count, t.rows);
    dk = pieces.take(keyRows * width * a.sumBytes);
    dv = pieces.take(keyRows * valueWidth * a.sumBytes);
  }
  Pieces pieces;
  /// Sizes of a block, and widths of the rows of dk and dv.
  int64_t keys, queries, width, valueWidth;
  /// Rows of dk and dv: each run is padded to whole panels, and the padding rows are written, too.
  int64_t keyRows = 0;
  /// "Across" are panels of B with queries in columns; "down" are features in rows.
  char *qAcross, *doutAcross, *q, *dout, *lse, *dot, *dqDown, *row, *k, *v, *kDown;
  char *scores, *unmodified, *gradients, *factors, *probabilities, *gradientsOfA, *gradientsOfB, *dk, *dv;
  int64_t *firstSeen;
};

/// A block of queries of one head and a block of keys, each contiguous in memory and in the sequence.
struct BlockPair {
  int64_t head, query, queries, queryPosition, key, keys, keyPosition;
  /// Row of the first key in the sums of dk and dv.
  int64_t keyRow;
};

class Backward {
public:
  Backward(const AttentionPlan &plan, const BackwardOperands &operands, void *scratch)
      : plan(plan), shape(plan.shape), tiles(plan.tiles), kernels(plan.kernels), elementBytes(plan.elementBytes), sumBytes(plan.sumBytes),
        resultBytes(operands.wide ? sumBytes : elementBytes), o(operands), memory(plan, scratch) {}
  void run();

private:
  /// Number of a pair's keys, from number `key` on, that a query of the pair sees.
  int64_t seen(const BlockPair &pair, int64_t query, int64_t key) const {
    return plan.seenFrom(pair.queryPosition + query, pair.keyPosition + key);
  }
  void meetKeys(int64_t head, const PositionRun &queries);
  void storeKeys();
  void beginQueries(const BlockPair &pair);
  void takeDots(const BlockPair &pair);
  void differentiate(const BlockPair &pair);
  void differentiatePanel(const BlockPair &pair, int64_t key);
  void multiplyAcross(const char *a, const char *b, int64_t depth, int64_t begin, int64_t queries, int used, char *scores) const;
  void multiplyDown(const char *a, const char *b, int64_t begin, int64_t queries, int64_t width, int used, char *sums) const;
  void finishQueries(const BlockPair &pair);

  const AttentionPlan &plan;
  const AttentionShape &shape;
  const TileKernels &tiles;
  const SoftmaxKernels &kernels;
  int64_t elementBytes, sumBytes, resultBytes;
  const BackwardOperands &o;
  BackwardMemory memory;
};

void Backward::run() {
  std::memset(memory.dk, 0, size_t(memory.keyRows * memory.width * sumBytes));
  std::memset(memory.dv, 0, size_t(memory.keyRows * memory.valueWidth * sumBytes));
  for (int64_t head = 0; head < shape.groups; ++head)
    for (const PositionRun &queries : shape.queryRuns)
      meetKeys(head, queries);
  storeKeys();
}

void Backward::meetKeys(int64_t head, const PositionRun &queries) {
  for (int64_t query = 0; query < queries.count; query += plan.queriesPerBlock) {
    BlockPair pair{head, queries.at + query, std::min(plan.queriesPerBlock, queries.count - query), queries.position + query, 0, 0, 0, 0};
    beginQueries(pair);
    int64_t firstRow = 0;
    for (const PositionRun &keys : shape.keyRuns) {
      for (int64_t key = 0; key < keys.count; key += plan.keysPerGradientBlock) {
        pair.key = keys.at + key, pair.keys = std::min(plan.keysPerGradientBlock, keys.count - key);
        pair.keyPosition = keys.position + key, pair.keyRow = firstRow + key;
        if (seen(pair, pair.queries - 1, 0) <= 0)
          break;
        if (plan.isFar(pair.queryPosition, pair.queryPosition + pair.queries - 1, pair.keyPosition, pair.keys))
          continue;
        differentiate(pair);
      }
      firstRow += roundUp(keys.count, tiles.rows);
    }
    finishQueries(pair);
  }
}

void Backward::storeKeys() {
  const char *dkSums = memory.dk, *dvSums = memory.dv;
  int64_t dkRow = memory.width * sumBytes, dvRow = memory.valueWidth * sumBytes;
  for (const PositionRun &run : shape.keyRuns) {
    for (int64_t key = 0; key < run.count; ++key) {
      char *dk = advance(o.dk, (run.at + key) * shape.dk.row * resultBytes),
           *dv = advance(o.dv, (run.at + key) * shape.dv.row * resultBytes);
      kernels.store(dkSums + key * dkRow, shape.width, shape.scale, dk, o.wide, o.accumulate);
      kernels.store(dvSums + key * dvRow, shape.valueWidth, 1, dv, o.wide, o.accumulate);
    }
    dkSums += roundUp(run.count, tiles.rows) * dkRow, dvSums += roundUp(run.count, tiles.rows) * dvRow;
  }
}

/// Packs the block's queries and their gradients for four products.
void Backward::beginQueries(const BlockPair &pair) {
  const char *q = advance(o.q, pair.head * shape.q.head * elementBytes),
             *dout = advance(o.dout, pair.head * shape.dout.head * elementBytes);
  tiles.packB({q, shape.q.row, true}, 0, shape.width, pair.query, pair.queries, memory.qAcross);
  tiles.packB({dout, shape.dout.row, true}, 0, shape.valueWidth, pair.query, pair.queries, memory.doutAcross);
  tiles.packB({q, shape.q.row, false}, pair.query, pair.queries, 0, shape.width, memory.q);
  tiles.packB({dout, shape.dout.row, false}, pair.query, pair.queries, 0, shape.valueWidth, memory.dout);
  std::memset(memory.dqDown, 0, size_t(roundUp(shape.width, tiles.rows) * memory.queries * sumBytes));

  int64_t first = pair.head * shape.queries + pair.query;
  const char *lse = advance(o.lse, first * sumBytes);
  (sumBytes == 8 ? setLse<double> : setLse<float>)(lse, pair.queries, memory.queries, memory.lse);
  takeDots(pair);
}

void Backward::takeDots(const BlockPair &pair) {
  zeroColumns(memory.dot, 1, 0, pair.queries, memory.queries, sumBytes);
  if (o.dot) {
    std::memcpy(memory.dot, advance(o.dot, (pair.head * shape.queries + pair.query) * sumBytes), size_t(pair.queries * sumBytes));
    return;
  }
  const char *out = advance(o.out, pair.head * shape.out.head * elementBytes),
             *dout = advance(o.dout, pair.head * shape.dout.head * elementBytes);
  for (int64_t i = 0; i < pair.queries; ++i) {
    double dot = kernels.dot(dout + (pair.query + i) * shape.dout.row * elementBytes, out + (pair.query + i) * shape.out.row * elementBytes,
                             shape.valueWidth);
    if (sumBytes == 8)
      reinterpret_cast<double *>(memory.dot)[i] = dot;
    else
      reinterpret_cast<float *>(memory.dot)[i] = float(dot);
  }
}

void Backward::finishQueries(const BlockPair &pair) {
  for (int64_t i = 0; i < pair.queries; ++i) {
    (sumBytes == 8 ? turnColumn<double> : turnColumn<float>)(memory.dqDown, i, memory.queries, shape.width, memory.row);
    int64_t at = pair.head * shape.dq.head + (pair.query + i) * shape.dq.row;
    kernels.store(memory.row, shape.width, shape.scale, advance(o.dq, at * resultBytes), o.wide, o.accumulate);
  }
}

/// The five products of a pair of blocks.
void Backward::differentiate(const BlockPair &pair) {
  tiles.packA({o.k, shape.k.row, false}, pair.key, pair.keys, 0, shape.width, memory.k);
  tiles.packA({o.v, shape.v.row, false}, pair.key, pair.keys, 0, shape.valueWidth, memory.v);
  tiles.packA({o.k, shape.k.row, true}, 0, shape.width, pair.key, pair.keys, memory.kDown);
  int64_t keyDepth = roundUp(pair.keys, tiles.group), filled = roundUp(pair.queries, columnUnit);
  // Not all of them are written where keys are masked, or where they only fill a group up.
  if (seen(pair, 0, 0) < pair.keys || pair.keys < keyDepth)
    std::memset(memory.gradientsOfB, 0, size_t(filled * keyDepth * tiles.packedBytes));
  for (int64_t key = 0; key < pair.keys; key += tiles.rows)
    if (seen(pair, pair.queries - 1, key) > 0)
      differentiatePanel(pair, key);

  FloatControl control(tiles.flushes ? FloatControl::Flushing : FloatControl::Precise);
  for (int64_t column = 0; column < pair.queries; column += tiles.columns) {
    int64_t last = std::min(column + tiles.columns, pair.queries) - 1, depth = std::min(pair.keys, seen(pair, last, 0));
    const char *a = memory.kDown, *b = memory.gradientsOfB + column * keyDepth * tiles.packedBytes;
    for (int64_t row = 0; row < shape.width && depth > 0; row += tiles.rows, a += tiles.rows * keyDepth * tiles.packedBytes)
      tiles.multiply(depth, a, true, b, memory.dqDown + (row * memory.queries + column) * sumBytes, memory.queries,
                     int(std::min<int64_t>(tiles.rows, shape.width - row)), false);
  }
}

/// One panel of keys before the block's queries: all but dq.
void Backward::differentiatePanel(const BlockPair &pair, int64_t key) {
  int used = int(std::min<int64_t>(tiles.rows, pair.keys - key));
  int64_t depth = roundUp(shape.width, tiles.group), valueDepth = roundUp(shape.valueWidth, tiles.group);
  GradientPanel panel{};
  panel.scores = memory.scores, panel.gradients = memory.gradients, panel.stride = memory.queries, panel.used = used;
  panel.end = roundUp(pair.queries, columnUnit);
  for (int r = 0; r < used; ++r)
    memory.firstSeen[r] = shape.causal ? std::max<int64_t>(0, 1 - seen(pair, 0, key + r)) : 0;
  panel.firstSeen = memory.firstSeen, panel.begin = memory.firstSeen[0] / columnUnit * columnUnit;

  multiplyAcross(memory.k + key * depth * tiles.packedBytes, memory.qAcross, shape.width, panel.begin, pair.queries, used, memory.scores);
  multiplyAcross(memory.v + key * valueDepth * tiles.packedBytes, memory.doutAcross, shape.valueWidth, panel.begin, pair.queries, used,
                 memory.gradients);
  panel.scale = shape.scale, panel.lse = memory.lse, panel.dot = memory.dot, panel.probabilities = memory.probabilities;
  bool byRow = o.modifier.byRow;
  int64_t begin = byRow ? 0 : panel.begin, at = begin * sumBytes;
  ScoreBlock block{memory.scores + at,
                   1,
                   memory.queries,
                   pair.head,
                   byRow ? pair.query : pair.queryPosition + begin,
                   byRow ? pair.key + key : pair.keyPosition + key,
                   pair.queries - begin,
                   used,
                   memory.factors + at,
                   memory.firstSeen};
  if (o.modifier.modify) {
    scaleScores(block, shape);
    std::memcpy(memory.unmodified, memory.scores, size_t(used * memory.queries * sumBytes));
    o.modifier.modify(o.modifier.context, block);
    // Whatever a modifier makes of columns that are no queries.
    zeroColumns(memory.scores, used, memory.queries, pair.queries, panel.end, sumBytes);
    zeroColumns(memory.factors, o.modifier.drops ? used : 0, memory.queries, pair.queries, panel.end, sumBytes);
    panel.scale = 1;
    panel.factors = o.modifier.drops ? memory.factors : nullptr;
  }
  kernels.differentiate(panel);
  if (o.modifier.differentiate) {
    block.scores = memory.unmodified + at;
    o.modifier.differentiate(o.modifier.context, block, memory.gradients + at);
    zeroColumns(memory.gradients, used, memory.queries, pair.queries, panel.end, sumBytes);
    for (int r = 0; r < used; ++r)
      zeroColumns(memory.gradients + r * memory.queries * sumBytes, 1, 0, panel.begin, std::min(memory.firstSeen[r], panel.end), sumBytes);
  }
  kernels.pack(memory.gradients, memory.queries, used, panel.begin, panel.end, memory.gradientsOfA, memory.gradientsOfB, key,
               roundUp(pair.keys, tiles.group));

  multiplyDown(memory.probabilities, memory.dout, panel.begin, pair.queries, memory.valueWidth, used,
               memory.dv + (pair.keyRow + key) * memory.valueWidth * sumBytes);
  multiplyDown(memory.gradientsOfA, memory.q, panel.begin, pair.queries, memory.width, used,
               memory.dk + (pair.keyRow + key) * memory.width * sumBytes);
}

/// One panel of keys times queries [begin, queries): scores or their gradients, with 0 for queries that only fill columns up.
void Backward::multiplyAcross(const char *a, const char *b, int64_t depth, int64_t begin, int64_t queries, int used, char *scores) const {
  FloatControl control(tiles.flushes ? FloatControl::Flushing : FloatControl::Precise);
  int64_t panelBytes = roundUp(depth, tiles.group) * tiles.packedBytes, column = begin / tiles.columns * tiles.columns;
  for (; column < queries; column += tiles.columns)
    tiles.multiply(depth, a, false, b + column * panelBytes, scores + column * sumBytes, memory.queries, used, true);
  zeroColumns(scores, used, memory.queries, column, roundUp(queries, columnUnit), sumBytes);
}

/// Adds the product of a panel of keys by queries [begin, queries) and of these by features.
void Backward::multiplyDown(const char *a, const char *b, int64_t begin, int64_t queries, int64_t width, int used, char *sums) const {
  FloatControl control(tiles.flushes ? FloatControl::Flushing : FloatControl::Precise);
  int64_t panelBytes = roundUp(queries, tiles.group) * tiles.columns * tiles.packedBytes;
  a += begin * tiles.rows * tiles.packedBytes, b += begin * tiles.columns * tiles.packedBytes;
  for (int64_t column = 0; column < width; column += tiles.columns, b += panelBytes)
    tiles.multiply(queries - begin, a, false, b, sums + column * sumBytes, width, used, false);
}

} // namespace

uint64_t Attention::backwardScratch() const { return BackwardMemory(plan, nullptr).pieces.total(); }

void Attention::backward(const BackwardOperands &operands, void *scratch) const {
  FloatControl control(FloatControl::Precise);
  plan.tiles.begin();
  Backward(plan, operands, scratch).run();
  plan.tiles.end();
}

} // namespace npar::engine
