// A block's data have the layout that a kernel expects: rows of the block first, [32, columns] or the dimensions of these that the datum
// has. Slopes are added up in one order for all instruction sets: heads, blocks of 256 queries, keys, queries.
#include "engine/backends/cpu/Scores.h"

#include "engine/program/Elements.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace npar::engine {
namespace {

constexpr int64_t alignment = 64;

int64_t roundedUp(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// [rows, columns] of elements, copied from strides.
template <class T>
void copyBlock(const T *from, int64_t rowStride, int64_t columnStride, int64_t rows, int64_t columns, int64_t width, T *to) {
  for (int64_t r = 0; r < rows; ++r, from += rowStride, to += width) {
    if (columnStride == 1)
      std::memcpy(to, from, size_t(columns) * sizeof(T));
    else
      for (int64_t c = 0; c < columns; ++c)
        to[c] = from[c * columnStride];
    std::fill(to + columns, to + width, T(0));
  }
}

} // namespace

Scores::Datum Scores::read(const program::AttentionDatum &datum) {
  return {int64_t(program::sizeOf(datum.type())),
          datum.head(),
          datum.query(),
          datum.key(),
          datum.keys(),
          datum.entries(),
          datum.has_query(),
          datum.has_key(),
          datum.datum()};
}

Scores::Scores(const program::Attention &a, const KernelTable &table)
    : gradient(a.gradient()), drops(a.drops()), ring(a.ring()), heads(a.heads()), rows(a.rows()), keys(a.keys()),
      columns(program::scoreColumns(a.gradient() ? a.rows() : a.keys())), sumBytes(int64_t(program::sizeOf(program::widened(a.type())))) {
  for (uint32_t i = 0; a.kernels() && i < a.kernels()->size(); ++i)
    kernels.push_back(table ? table(a.kernels()->Get(i)) : ScoreKernel{});
  if (kernels.empty())
    return;
  auto take = [&](int64_t size) {
    int64_t at = bytes;
    bytes += roundedUp(size);
    return at;
  };
  int64_t longest = std::max(columns, program::scoreRows), tile = program::scoreRows * columns;
  queriesAt = take(longest * int64_t(sizeof(int32_t)));
  keysAt = take(longest * int64_t(sizeof(int32_t)));
  for (uint32_t i = 0; a.data() && i < a.data()->size(); ++i) {
    data.push_back(read(*a.data()->Get(i)));
    data.back().at = take((data.back().hasQuery && data.back().hasKey ? tile : longest) * data.back().bytes);
  }
  for (uint32_t i = 0; a.slopes() && i < a.slopes()->size(); ++i) {
    slopes.push_back(read(*a.slopes()->Get(i)));
    slopes.back().at = take(heads * sumsOf(slopes.back()) * int64_t(sizeof(double)));
  }
  tilesAt = bytes;
  for (const Datum &slope : slopes)
    take(tile * sumBytes + (slope.entries ? tile * int64_t(sizeof(int32_t)) : 0));
}

int64_t Scores::sumsOf(const Datum &slope) const {
  if (slope.hasQuery && slope.hasKey)
    return 0;
  return slope.entries ? slope.entries : slope.hasQuery ? rows : slope.hasKey ? keys : 1;
}

uint64_t Scores::scratchBytes() const { return uint64_t(bytes); }

Scores::Item::Item(const Scores &scores, const AttentionShape &shape, void *const *data, void *const *slopes, const int64_t *context,
                   int64_t source, int64_t firstPosition, void *scratch)
    : scores(scores), shape(shape), data(data), slopes(slopes), context(context), firstKey(scores.ring ? source * scores.keys : 0),
      firstPosition(firstPosition), scratch(static_cast<char *>(scratch)) {
  for (size_t i = 0; i < scores.slopes.size(); ++i) {
    const Datum &slope = scores.slopes[i];
    std::memset(this->scratch + slope.at, 0, size_t(scores.heads * scores.sumsOf(slope)) * sizeof(double));
    int64_t together = slope.key == 1 ? slope.keys : 1;
    for (int64_t head = 0; slope.hasQuery && slope.hasKey && head < scores.heads; ++head)
      for (int64_t query = 0; query < scores.rows; ++query)
        for (int64_t key = 0; key < slope.keys; key += together)
          std::memset(static_cast<char *>(slopes[i]) + (head * slope.head + query * slope.query + key * slope.key) * slope.bytes, 0,
                      size_t(together * slope.bytes));
  }
}

ScoreModifier Scores::Item::modifier() const {
  ScoreModifier modifier;
  modifier.modify = modifyOf;
  modifier.differentiate = scores.gradient ? differentiateOf : nullptr;
  modifier.context = this;
  modifier.byRow = true;
  modifier.drops = scores.drops;
  return modifier;
}

/// Positions of rows [first, first + count) in memory.
void Scores::Item::place(const std::vector<PositionRun> &runs, int64_t shift, int64_t first, int64_t count, int32_t *to) const {
  for (const PositionRun &run : runs)
    for (int64_t row = std::max(first, run.at); row < std::min(first + count, run.at + run.count); ++row)
      to[row - first] = int32_t(run.position + row - run.at + shift);
}

/// A datum as a kernel reads it.
void *Scores::Item::block(size_t number, const ScoreBlock &block) const {
  const Datum &datum = scores.data[number];
  char *from = static_cast<char *>(data[number]) + block.head * datum.head * datum.bytes;
  if (!datum.hasQuery && !datum.hasKey)
    return from;
  int64_t key = block.firstKey + (datum.hasQuery ? firstKey : 0);
  from += ((datum.hasQuery ? block.firstQuery * datum.query : 0) + (datum.hasKey ? key * datum.key : 0)) * datum.bytes;
  bool ofKeys = scores.gradient;
  bool hasRows = ofKeys ? datum.hasKey : datum.hasQuery, hasColumns = ofKeys ? datum.hasQuery : datum.hasKey;
  int64_t rowStride = ofKeys ? datum.key : datum.query, columnStride = ofKeys ? datum.query : datum.key;
  int64_t rows = ofKeys ? block.keys : block.queries, columns = ofKeys ? block.queries : block.keys, width = scores.columns;
  if (!hasColumns) // one after the other
    columns = rows, columnStride = rowStride, rows = 1, width = program::scoreRows;
  else if (!hasRows)
    rows = 1;
  char *to = scratch + datum.at;
  if (datum.bytes == 8)
    copyBlock(reinterpret_cast<const int64_t *>(from), rowStride, columnStride, rows, columns, width, reinterpret_cast<int64_t *>(to));
  else if (datum.bytes == 4)
    copyBlock(reinterpret_cast<const int32_t *>(from), rowStride, columnStride, rows, columns, width, reinterpret_cast<int32_t *>(to));
  else if (datum.bytes == 2)
    copyBlock(reinterpret_cast<const int16_t *>(from), rowStride, columnStride, rows, columns, width, reinterpret_cast<int16_t *>(to));
  else
    copyBlock(from, rowStride, columnStride, rows, columns, width, to);
  return to;
}

void Scores::Item::run(const ScoreKernel &kernel, void *const *buffers, int64_t rows) const {
  kernel.function(buffers, context, 0, (kernel.extent * rows + program::scoreRows - 1) / program::scoreRows);
}

void Scores::Item::modify(const ScoreBlock &block) const {
  auto *queries = reinterpret_cast<int32_t *>(scratch + scores.queriesAt), *keys = reinterpret_cast<int32_t *>(scratch + scores.keysAt);
  int64_t longest = std::max(scores.columns, program::scoreRows);
  std::fill_n(queries, longest, 0);
  std::fill_n(keys, longest, 0);
  place(shape.queryRuns, firstPosition, block.firstQuery, block.queries, queries);
  place(shape.keyRuns, 0, block.firstKey, block.keys, keys);
  std::array<void *, mostBuffers> buffers{block.scores, queries, keys};
  size_t used = 3;
  for (size_t i = 0; i < scores.data.size(); ++i)
    buffers[used++] = this->block(i, block);
  buffers[used++] = block.scores;
  buffers[used++] = block.factors;
  run(scores.kernels.front(), buffers.data(), scores.gradient ? block.keys : block.queries);
}

/// Must follow `modify` of the same block, whose data are still in the scratch memory.
void Scores::Item::differentiate(const ScoreBlock &block, void *gradients) const {
  std::array<void *, mostBuffers> buffers{block.scores, scratch + scores.queriesAt, scratch + scores.keysAt};
  size_t used = 3;
  for (size_t i = 0; i < scores.data.size(); ++i) {
    const Datum &datum = scores.data[i];
    bool isWhole = !datum.hasQuery && !datum.hasKey;
    buffers[used++] = isWhole ? static_cast<char *>(data[i]) + block.head * datum.head * datum.bytes : scratch + datum.at;
  }
  buffers[used++] = gradients;
  buffers[used++] = gradients;
  char *tile = scratch + scores.tilesAt;
  std::array<std::pair<char *, int32_t *>, mostBuffers> tiles{};
  for (size_t i = 0; i < scores.slopes.size(); ++i) {
    int64_t elements = program::scoreRows * scores.columns;
    tiles[i].first = tile;
    buffers[used++] = tile;
    tile += elements * scores.sumBytes;
    if (scores.slopes[i].entries) {
      tiles[i].second = reinterpret_cast<int32_t *>(tile);
      buffers[used++] = tile;
      tile += elements * int64_t(sizeof(int32_t));
    }
    tile = scratch + roundedUp(tile - scratch);
  }
  run(scores.kernels.back(), buffers.data(), block.keys);
  for (size_t i = 0; i < scores.slopes.size(); ++i) {
    if (scores.sumBytes == 8)
      addUp(block, i, reinterpret_cast<const double *>(tiles[i].first), tiles[i].second, scores.columns);
    else
      addUp(block, i, reinterpret_cast<const float *>(tiles[i].first), tiles[i].second, scores.columns);
  }
}

template <class T>
void Scores::Item::addUp(const ScoreBlock &block, size_t number, const T *tile, const int32_t *entries, int64_t columns) const {
  const Datum &slope = scores.slopes[number];
  auto *sums = reinterpret_cast<double *>(scratch + slope.at) + block.head * scores.sumsOf(slope);
  for (int64_t r = 0; r < block.keys; ++r, tile += columns, entries += entries ? columns : 0) {
    int64_t first = std::min(block.firstSeen[r], block.queries);
    if (slope.hasQuery && slope.hasKey) {
      T *to = static_cast<T *>(slopes[number]) + block.head * slope.head + (firstKey + block.firstKey + r) * slope.key +
              block.firstQuery * slope.query;
      for (int64_t c = first; c < block.queries; ++c)
        to[c * slope.query] += tile[c];
    } else if (slope.entries) {
      for (int64_t c = first; c < block.queries; ++c)
        if (entries[c] >= 0 && entries[c] < slope.entries)
          sums[entries[c]] += double(tile[c]);
    } else if (slope.hasQuery) {
      for (int64_t c = first; c < block.queries; ++c)
        sums[block.firstQuery + c] += double(tile[c]);
    } else {
      double sum = 0;
      for (int64_t c = first; c < block.queries; ++c)
        sum += double(tile[c]);
      sums[slope.hasKey ? block.firstKey + r : 0] += sum;
    }
  }
}

template <class T> void Scores::Item::finish(size_t number) const {
  const Datum &slope = scores.slopes[number];
  int64_t count = scores.sumsOf(slope), stride = slope.entries ? 1 : slope.hasQuery ? slope.query : slope.hasKey ? slope.key : 0;
  auto *sums = reinterpret_cast<const double *>(scratch + slope.at);
  for (int64_t head = 0; head < scores.heads; ++head)
    for (int64_t i = 0; i < count; ++i)
      static_cast<T *>(slopes[number])[head * slope.head + i * stride] = T(sums[head * count + i]);
}

void Scores::Item::finish() const {
  for (size_t i = 0; i < scores.slopes.size(); ++i)
    if (scores.sumBytes == 8)
      finish<double>(i);
    else
      finish<float>(i);
}

} // namespace npar::engine
