// Attention forward: blocks of keys are processed against the rows of a part, in panels of a register tile's rows.
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

/// Logarithm with an error of about 1e-16 and the same bits everywhere: x = 2^e m with m near 1, and log m = 2 artanh((m - 1) / (m + 1)).
double logarithm(double x) {
  if (!(x > 0) || std::isinf(x))
    return x == 0 ? -std::numeric_limits<double>::infinity() : x;
  int exponent;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752)
    m *= 2, --exponent;
  double z = (m - 1) / (m + 1), square = z * z, sum = 0;
  for (int k = 23; k >= 1; k -= 2)
    sum = sum * square + 1.0 / k;
  return 2 * z * sum + exponent * 0.69314718055994531;
}

/// Rows of out and their lse.
template <class T>
void finishRows(const SoftmaxKernels &kernels, const char *maxima, const char *sums, const char *products, int64_t stride, int64_t rows,
                int64_t width, char *out, int64_t outStride, void *lse) {
  for (int64_t r = 0; r < rows; ++r) {
    T max = reinterpret_cast<const T *>(maxima)[r], sum = reinterpret_cast<const T *>(sums)[r];
    kernels.store(products + r * stride * int64_t(sizeof(T)), width, sum == 0 ? T(0) : T(1) / sum, out + r * outStride, false, false);
    static_cast<T *>(lse)[r] = T(double(max) + logarithm(double(sum)));
  }
}

template <class T> void fill(char *at, int64_t count, T value) { std::fill_n(reinterpret_cast<T *>(at), count, value); }

/// Scratch memory of a part. Its rows are [heads, rows of a head, ..], with the rows of a head padded to whole panels.
struct ForwardMemory {
  ForwardMemory(const AttentionPlan &a, void *memory) : pieces(memory) {
    const TileKernels &t = a.tiles;
    rows = std::min(a.queriesPerPart, roundUp(a.shape.queries, t.rows));
    width = roundUp(a.shape.valueWidth, t.columns);
    int64_t all = rows * a.shape.groups, keys = std::min(keysPerBlock, roundUp(a.shape.keys, columnUnit));
    stride = keys;
    int64_t depth = roundUp(a.shape.width, t.group);
    headBytes = rows * depth * t.packedBytes;
    panelBytes = t.rows * depth * t.packedBytes;
    q = pieces.take(a.shape.groups * headBytes);
    wideBytes = roundUp(a.shape.width, a.thin.group) * a.sumBytes;
    wide = pieces.take(a.isThin() ? a.shape.groups * wideBytes : 0);
    wideKeys = roundUp(keys, a.thin.group);
    wideProbabilities = pieces.take(a.isThinForValues() ? wideKeys * a.sumBytes : 0);
    k = pieces.take(roundUp(keys, t.columns) * depth * t.packedBytes);
    v = pieces.take(roundUp(keys, t.group) * width * t.packedBytes);
    scores = pieces.take(t.rows * stride * a.sumBytes);
    factors = pieces.take(t.rows * stride * a.sumBytes);
    probabilities = pieces.take(t.rows * keysPerBlock * t.packedBytes);
    product = pieces.take(t.rows * width * a.sumBytes);
    out = pieces.take(all * width * a.sumBytes);
    max = pieces.take(all * a.sumBytes);
    sum = pieces.take(all * a.sumBytes);
    decay = pieces.take(roundUp(t.rows, lanesOfRow) * a.sumBytes);
    visible = reinterpret_cast<int64_t *>(pieces.take(t.rows * int64_t(sizeof(int64_t))));
  }
  Pieces pieces;
  /// `stride`: stride of scores. `wide`: each head's only query, widened for products of few rows; `wideProbabilities`: its probabilities.
  int64_t rows, width, headBytes, panelBytes, stride, wideBytes, wideKeys;
  char *q, *wide, *wideProbabilities, *k, *v, *scores, *factors, *probabilities, *product, *out, *max, *sum, *decay;
  int64_t *visible;
};

/// A block of packed keys, with the part of queries that it is multiplied with.
struct KeyBlock {
  int64_t keys, position, at;
  /// Bytes from a panel of keys, or of values, to the next.
  int64_t keyBytes, valueBytes;
};

/// Queries [first, end) of all heads.
class ForwardPart {
public:
  ForwardPart(const AttentionPlan &plan, int64_t first, const ForwardOperands &operands, void *scratch)
      : plan(plan), shape(plan.shape), tiles(plan.tiles), kernels(plan.kernels), sumBytes(plan.sumBytes), o(operands),
        memory(plan, scratch), first(first), end(std::min(first + plan.queriesPerPart, shape.queries)) {}
  void run();

private:
  void begin();
  void attend(const PositionRun &keys);
  void attend(const KeyBlock &block, int64_t head, int64_t query, int used);
  void multiplyValues(const KeyBlock &block, int used, int64_t seen) const;
  void modify(const KeyBlock &block, int64_t head, int64_t query, int used, int64_t seen) const;
  void finish();
  int64_t positionOf(int64_t query) const { return plan.positionOf(query) + o.firstPosition; }
  int64_t firstOf(int64_t begin, int64_t past) const { return plan.firstPosition(begin, past) + o.firstPosition; }
  int64_t lastOf(int64_t begin, int64_t past) const { return plan.lastPosition(begin, past) + o.firstPosition; }

  const AttentionPlan &plan;
  const AttentionShape &shape;
  const TileKernels &tiles;
  const SoftmaxKernels &kernels;
  int64_t sumBytes;
  const ForwardOperands &o;
  ForwardMemory memory;
  int64_t first, end;
};

void ForwardPart::run() {
  begin();
  for (const PositionRun &keys : shape.keyRuns)
    attend(keys);
  finish();
}

void ForwardPart::attend(const PositionRun &keys) {
  int64_t begin = firstOf(first, end), last = lastOf(first, end);
  for (int64_t key = 0; key < keys.count && plan.seenFrom(last, keys.position + key) > 0; key += keysPerBlock) {
    KeyBlock block{std::min(keysPerBlock, keys.count - key), keys.position + key, keys.at + key, 0, 0};
    if (plan.isFar(begin, last, block.position, block.keys))
      continue;
    block.keyBytes = roundUp(shape.width, tiles.group) * tiles.columns * tiles.packedBytes;
    block.valueBytes = roundUp(block.keys, tiles.group) * tiles.columns * tiles.packedBytes;
    if (!plan.isThin())
      tiles.packB({o.k, shape.k.row, true}, 0, shape.width, keys.at + key, block.keys, memory.k);
    if (!plan.isThinForValues())
      tiles.packB({o.v, shape.v.row, false}, keys.at + key, block.keys, 0, shape.valueWidth, memory.v);
    for (int64_t head = 0; head < shape.groups; ++head)
      for (int64_t query = first; query < end; query += tiles.rows)
        attend(block, head, query, int(std::min<int64_t>(tiles.rows, end - query)));
  }
}

/// One panel of rows and one block of keys.
void ForwardPart::attend(const KeyBlock &block, int64_t head, int64_t query, int used) {
  int64_t row = query - first, seen = 0, at = head * memory.rows + row;
  if (plan.isFar(firstOf(query, query + used), lastOf(query, query + used), block.position, block.keys))
    return;
  ScorePanel panel{};
  panel.scores = memory.scores, panel.stride = memory.stride, panel.used = used;
  for (int r = 0; r < used; ++r) {
    memory.visible[r] = std::max<int64_t>(0, std::min(block.keys, plan.seenFrom(positionOf(query + r), block.position)));
    seen = std::max(seen, memory.visible[r]);
  }
  if (seen == 0)
    return;
  const char *q = memory.q + head * memory.headBytes + row / tiles.rows * memory.panelBytes;
  {
    FloatControl control(tiles.flushes ? FloatControl::Flushing : FloatControl::Precise);
    const char *k = memory.k;
    if (plan.isThin()) // there is room for the scores of four rows
      plan.thin.multiplyThin(1, shape.width, memory.wide + head * memory.wideBytes, memory.wideBytes / sumBytes, {o.k, shape.k.row, true},
                             block.at, seen, memory.scores);
    for (int64_t j = 0; j < seen && !plan.isThin(); j += tiles.columns, k += block.keyBytes)
      tiles.multiply(shape.width, q, false, k, memory.scores + j * sumBytes, memory.stride, used, true);
  }
  panel.visible = memory.visible, panel.columns = roundUp(seen, columnUnit), panel.scale = shape.scale;
  if (o.modifier.modify) {
    modify(block, head, query, used, seen);
    panel.scale = 1;
    panel.factors = o.modifier.drops ? memory.factors : nullptr;
  }
  panel.max = memory.max + at * sumBytes, panel.sum = memory.sum + at * sumBytes, panel.decay = memory.decay;
  panel.probabilities = memory.probabilities;
  kernels.softmax(panel);
  multiplyValues(block, used, seen);
  kernels.rescale(memory.product, memory.out + at * memory.width * sumBytes, memory.width, memory.decay, used);
}

/// Multiplies a panel of probabilities with the values of the keys that its rows see.
void ForwardPart::multiplyValues(const KeyBlock &block, int used, int64_t seen) const {
  FloatControl control(tiles.flushes ? FloatControl::Flushing : FloatControl::Precise);
  if (plan.isThinForValues()) {
    tiles.widenPanelRow(memory.probabilities, seen, memory.wideKeys, memory.wideProbabilities);
    Operand values{advance(o.v, block.at * shape.v.row * plan.elementBytes), shape.v.row, false};
    plan.thin.multiplyThin(1, seen, memory.wideProbabilities, memory.wideKeys, values, 0, shape.valueWidth, memory.product);
    return;
  }
  const char *v = memory.v;
  for (int64_t c = 0; c < memory.width; c += tiles.columns, v += block.valueBytes)
    tiles.multiply(seen, memory.probabilities, false, v, memory.product + c * sumBytes, memory.width, used, true);
}

/// Scales the panel's scores and hands them to the caller, neighbours in the sequence at a time.
void ForwardPart::modify(const KeyBlock &block, int64_t head, int64_t query, int used, int64_t seen) const {
  if (o.modifier.byRow) {
    ScoreBlock scores{memory.scores, memory.stride, 1, head, query, block.at, used, seen, memory.factors};
    scaleScores(scores, shape);
    o.modifier.modify(o.modifier.context, scores);
    return;
  }
  for (int r = 0, rows; r < used; r += rows) {
    int64_t position = positionOf(query + r), at = r * memory.stride * sumBytes;
    for (rows = 1; r + rows < used && positionOf(query + r + rows) == position + rows;)
      ++rows;
    ScoreBlock scores{memory.scores + at, memory.stride, 1, head, position, block.position, rows, seen, memory.factors + at};
    scaleScores(scores, shape);
    o.modifier.modify(o.modifier.context, scores);
  }
}

void ForwardPart::begin() {
  for (int64_t head = 0; head < shape.groups && plan.isThin(); ++head)
    plan.thin.widenThin({advance(o.q, head * shape.q.head * plan.elementBytes), shape.q.row, false}, 1, shape.width,
                        memory.wideBytes / sumBytes, memory.wide + head * memory.wideBytes);
  for (int64_t head = 0; head < shape.groups; ++head)
    tiles.packA({advance(o.q, head * shape.q.head * plan.elementBytes), shape.q.row, false}, first, end - first, 0, shape.width,
                memory.q + head * memory.headBytes);
  int64_t rows = memory.rows * shape.groups, count = end - first;
  std::memset(memory.decay, 0, size_t(roundUp(tiles.rows, lanesOfRow) * sumBytes));
  std::memset(memory.out, 0, size_t(rows * memory.width * sumBytes));
  std::memset(memory.sum, 0, size_t(rows * sumBytes));
  if (sumBytes == 8)
    fill(memory.max, rows, -std::numeric_limits<double>::infinity());
  else
    fill(memory.max, rows, -std::numeric_limits<float>::infinity());
  if (!o.before)
    return;
  int64_t values = shape.valueWidth * sumBytes, rowBytes = values + 2 * sumBytes;
  for (int64_t head = 0; head < shape.groups; ++head)
    for (int64_t r = 0; r < count; ++r) {
      const char *from = advance(o.before, (head * shape.queries + first + r) * rowBytes);
      int64_t at = head * memory.rows + r;
      std::memcpy(memory.out + at * memory.width * sumBytes, from, size_t(values));
      std::memcpy(memory.max + at * sumBytes, from + values, size_t(sumBytes));
      std::memcpy(memory.sum + at * sumBytes, from + values + sumBytes, size_t(sumBytes));
    }
}

void ForwardPart::finish() {
  int64_t count = end - first, values = shape.valueWidth * sumBytes, rowBytes = values + 2 * sumBytes;
  for (int64_t head = 0; head < shape.groups; ++head) {
    int64_t at = head * memory.rows, to = head * shape.queries + first;
    const char *max = memory.max + at * sumBytes, *sum = memory.sum + at * sumBytes, *out = memory.out + at * memory.width * sumBytes;
    if (!o.after) {
      auto finish = sumBytes == 8 ? finishRows<double> : finishRows<float>;
      finish(kernels, max, sum, out, memory.width, count, shape.valueWidth,
             advance(o.out, (head * shape.out.head + first * shape.out.row) * plan.elementBytes), shape.out.row * plan.elementBytes,
             advance(o.lse, to * sumBytes));
      continue;
    }
    for (int64_t r = 0; r < count; ++r) {
      char *row = advance(o.after, (to + r) * rowBytes);
      std::memcpy(row, out + r * memory.width * sumBytes, size_t(values));
      std::memcpy(row + values, max + r * sumBytes, size_t(sumBytes));
      std::memcpy(row + values + sumBytes, sum + r * sumBytes, size_t(sumBytes));
    }
  }
}

} // namespace

int Attention::forwardParts() const { return int((plan.shape.queries + plan.queriesPerPart - 1) / plan.queriesPerPart); }
uint64_t Attention::forwardScratch() const { return ForwardMemory(plan, nullptr).pieces.total(); }

void Attention::forward(int part, const ForwardOperands &operands, void *scratch) const {
  FloatControl control(FloatControl::Precise);
  plan.tiles.begin();
  // The last queries first: with a causal mask they have the most to do.
  ForwardPart(plan, (forwardParts() - 1 - part) * plan.queriesPerPart, operands, scratch).run();
  plan.tiles.end();
}

} // namespace npar::engine
