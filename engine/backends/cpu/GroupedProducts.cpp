// Walks groups and samples: a group's matrix is packed once for all samples, and sums over rows continue from sample to sample.
#include "engine/backends/cpu/GroupedProducts.h"

#include "engine/backends/cpu/Workers.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <cstring>

namespace npar::engine {

using program::Grouping;

namespace {

/// Limit on the sums of a band that will be added to C.
constexpr int64_t mostSumBytes = 8 << 20;

/// Rows of C that are summed at once.
int64_t bandOf(const program::Matmul &m) {
  int64_t bytes = m.n() * static_cast<int64_t>(program::sizeOf(m.result()));
  return m.accumulate() ? std::clamp<int64_t>(mostSumBytes / bytes, std::min<int64_t>(m.m(), 64), m.m()) : m.m();
}

/// The shape that is planned: a window can have more rows than a sample, and sums that will be added to C are stored without gaps.
ProductShape plannedShape(ProductShape shape, const program::Matmul &m, int64_t windowRows) {
  if (m.accumulate())
    shape.accumulate = false, shape.cStride = shape.n, shape.m = bandOf(m);
  int64_t &rows = m.grouping() == Grouping::Rows ? shape.m : shape.k;
  rows = std::max(rows, windowRows);
  shape.sharesB = true;
  return shape;
}

template <typename T> void addTo(uint8_t *target, const uint8_t *sums, int64_t count) {
  auto *to = reinterpret_cast<T *>(target);
  auto *from = reinterpret_cast<const T *>(sums);
  for (int64_t i = 0; i < count; ++i)
    to[i] += from[i];
}

} // namespace

/// The operands of one run, and the scratch of the workers.
struct GroupedProduct::Call {
  const uint8_t *a, *b;
  RowRanges ranges;
  uint8_t *c;
  WorkerScratch &scratch;
};

/// A group whose product one worker computes, or all of them. `memory` is what they share.
struct GroupedProduct::Group {
  const Call &call;
  int64_t number;
  bool spreads;
  const Product &product;
  uint8_t *memory, *left, *right; ///< `left`, `right`: the window's operands
  uint8_t *sums;                  ///< of a band, if they will be added to C
  int64_t band = 0;               ///< first row of C
};

GroupedProduct::GroupedProduct(const program::Matmul &m, const ProductShape &shape, BatchLoops loops, const Spread &spread,
                               InstructionSet set)
    : grouping(m.grouping()), loops(std::move(loops)), samples(m.batch()->Get(0)), groups(m.batch()->Get(1)),
      rows(grouping == Grouping::Rows ? m.m() : m.k()), aRow(grouping == Grouping::Rows ? m.a_row() : m.a_column()),
      bRow(grouping == Grouping::Rows ? 0 : m.b_row()), cRow(grouping == Grouping::Rows ? m.c_row() : 0), cRows(m.m()), bandRows(bandOf(m)),
      threads(spread.threads), accumulates(m.accumulate()), isWide(program::isWide(m.result())), window(m),
      whole(plannedShape(shape, m, window.rows()), 1, set), spread(plannedShape(shape, m, window.rows()), spread.threads, set) {
  auto bytes = static_cast<int64_t>(program::sizeOf(m.type())), resultBytes = static_cast<int64_t>(program::sizeOf(m.result()));
  aRow *= bytes, bRow *= bytes, cRow *= resultBytes;
  aAcross = m.a_row() * bytes;
  cStride = m.c_row() * resultBytes, cWidth = m.n() * resultBytes;
  isSmall = piecesOf(2.0 * double(m.m()) * double(m.n()) * double(m.k()) * double(samples), spread) == 1;
  if (grouping == Grouping::Rows) {
    ProductShape thin = shape;
    thin.m = std::min(thin.m, mostThinRows(shape, set));
    few.emplace(thin, spread.threads, set);
  }
}

/// Of the products. After them are the window and the sums of a band.
uint64_t GroupedProduct::productBytes() const {
  uint64_t most = std::max(whole.sharedBytes() + whole.partBytes(), spread.sharedBytes() + spread.partBytes());
  if (few)
    most = std::max(most, few->sharedBytes() + few->partBytes());
  return (most + 63) / 64 * 64;
}

uint64_t GroupedProduct::windowBytes() const { return (window.bytes() + 63) / 64 * 64; }

uint64_t GroupedProduct::scratchBytes() const {
  return productBytes() + windowBytes() + static_cast<uint64_t>(accumulates ? bandRows * cWidth : 0);
}

/// Nothing outside of the sample's rows, whatever the data say.
GroupedProduct::Range GroupedProduct::rangeOf(const RowRanges &ranges, int64_t sample, int64_t group) const {
  int64_t at = sample * groups + group, begin = std::clamp<int64_t>(ranges.first[at], 0, rows);
  return {begin, std::clamp<int64_t>(ranges.last[at], begin, rows)};
}

int64_t GroupedProduct::rowsOf(const RowRanges &ranges, int64_t group) const {
  int64_t count = 0;
  for (int64_t sample = 0; sample < samples; ++sample)
    count += rangeOf(ranges, sample, group).count();
  return count;
}

void GroupedProduct::zero(uint8_t *c, int64_t count) const {
  for (int64_t row = 0; row < count; ++row)
    std::memset(c + row * cStride, 0, static_cast<size_t>(cWidth));
}

/// Zeros in the rows of no group.
void GroupedProduct::clearOthers(const Call &call) const {
  for (int64_t sample = 0; sample < samples; ++sample) {
    uint8_t *c = call.c + loops.offset(sample * groups, 2);
    int64_t done = 0;
    for (int64_t group = 0; group < groups; ++group) {
      Range range = rangeOf(call.ranges, sample, group);
      zero(c + done * cStride, range.begin - done);
      done = std::max(done, range.end);
    }
    zero(c + done * cStride, rows - done);
  }
}

/// Finds where a product of rows from `row` of a sample on begins.
ProductOperands GroupedProduct::operandsOf(const Group &group, int64_t sample, int64_t row) const {
  int64_t place = sample * groups + group.number;
  return {group.call.a + loops.offset(place, 0) + row * aRow + group.band * aAcross, group.call.b + loops.offset(place, 1) + row * bRow,
          accumulates ? group.sums : group.call.c + loops.offset(place, 2) + row * cRow};
}

void GroupedProduct::runPhases(const Group &group, const Product &part, int64_t first, int64_t end, const ProductOperands &operands) const {
  for (int64_t phase = first; phase < end; ++phase) {
    auto run = [&](int64_t i) {
      auto *own = static_cast<uint8_t *>(group.call.scratch.own());
      part.run(phase, i, operands, group.memory, own + part.sharedBytes());
    };
    if (group.spreads)
      forEachPart(part.parts(phase), run);
    for (int64_t i = 0; !group.spreads && i < part.parts(phase); ++i)
      run(i);
  }
}

// --- rows: each times its group's matrix -----------------------------------------------------------------------------------------------

void GroupedProduct::multiplyRows(const Group &group) const {
  bool isPacked = multiplyInPlace(group);
  for (int64_t begin = 0, end = 0; begin < samples; begin = end) {
    int64_t count = 0;
    for (; end < samples && count + restOf(group, end) <= window.rows(); ++end)
      count += restOf(group, end);
    isPacked = multiplyRests(group, begin, end, isPacked);
  }
}

/// How many of a sample's rows are multiplied where they are stored: whole tiles if few rows remain. The others are copied.
int64_t GroupedProduct::inPlace(int64_t count) const {
  int64_t tile = whole.tileRows(), rest = count % tile;
  if (window.rows() == 0)
    return count;
  return count < 2 * tile ? 0 : 2 * rest <= tile ? count - rest : count;
}

int64_t GroupedProduct::restOf(const Group &group, int64_t sample) const {
  int64_t count = rangeOf(group.call.ranges, sample, group.number).count();
  return count - inPlace(count);
}

/// Returns whether the group's whole matrix is packed afterwards. Samples take turns, so that each part of the matrix is packed once.
bool GroupedProduct::multiplyInPlace(const Group &group) const {
  const Product &product = group.product;
  bool isPacked = false, shares = product.sharesPanels();
  for (int64_t step = 0; step < (shares ? product.phases() : 1); step += 2) {
    isPacked = false;
    for (int64_t sample = 0; sample < samples; ++sample) {
      Range range = rangeOf(group.call.ranges, sample, group.number);
      int64_t count = inPlace(range.count());
      if (count == 0)
        continue;
      Product part = product.withRows(count);
      runPhases(group, part, isPacked ? step + 1 : step, shares ? step + 2 : part.phases(), operandsOf(group, sample, range.begin));
      isPacked = shares;
    }
  }
  return isPacked && product.phases() == 2;
}

/// Multiplies the rests of these samples as one product, and copies its rows to their places.
bool GroupedProduct::multiplyRests(const Group &group, int64_t begin, int64_t end, bool isPacked) const {
  int64_t count = 0;
  auto forEachRest = [&](auto &&copy) {
    count = 0;
    for (int64_t sample = begin; sample < end; ++sample)
      if (int64_t rest = restOf(group, sample); rest > 0) {
        copy(operandsOf(group, sample, rangeOf(group.call.ranges, sample, group.number).end - rest), rest);
        count += rest;
      }
  };
  forEachRest([&](const ProductOperands &from, int64_t rest) {
    window.copyLeft(group.left + count * aRow, static_cast<const uint8_t *>(from.a), rest);
  });
  if (count == 0)
    return isPacked;
  Product part = group.product.withRows(count);
  runPhases(group, part, isPacked ? 1 : 0, part.phases(), {group.left, operandsOf(group, 0, 0).b, group.right});
  forEachRest(
      [&](const ProductOperands &to, int64_t rest) { window.copyRight(static_cast<uint8_t *>(to.c), group.right + count * cRow, rest); });
  return isPacked || (part.sharesPanels() && part.phases() == 2);
}

// --- depth: sums over the rows of a group ----------------------------------------------------------------------------------------------

void GroupedProduct::addRows(const Group &group) const {
  auto rowsIn = [&](int64_t sample) { return rangeOf(group.call.ranges, sample, group.number).count(); };
  bool begun = false;
  for (int64_t begin = 0, end = 0; begin < samples; begin = end) {
    int64_t count = 0;
    for (; end < samples && rowsIn(end) <= window.rows() / 2 && count + filled(rowsIn(end)) <= window.rows(); ++end)
      count += filled(rowsIn(end));
    end = std::max(end, begin + 1);
    begun = addInOne(group, begin, end, begun);
  }
  if (!begun && accumulates)
    std::memset(group.sums, 0, static_cast<size_t>(group.product.rows() * cWidth));
  else if (!begun)
    zero(group.call.c + loops.offset(group.number, 2), cRows);
}

/// Adds finished sums to C, a band of rows after the other.
void GroupedProduct::accumulate(const Group &group) const {
  for (int64_t band = 0; band < cRows; band += bandRows) {
    int64_t count = std::min(bandRows, cRows - band);
    Product product = group.product.withRows(count);
    Group part{group.call, group.number, group.spreads, product, group.memory, group.left, group.right, group.sums, band};
    addRows(part);
    uint8_t *c = group.call.c + loops.offset(group.number, 2) + band * cStride;
    int64_t parts = group.spreads ? std::min<int64_t>(threads, count) : 1;
    auto add = [&](int64_t i) {
      for (int64_t row = count * i / parts; row < count * (i + 1) / parts; ++row)
        isWide ? addTo<double>(c + row * cStride, group.sums + row * cWidth, cWidth / 8)
               : addTo<float>(c + row * cStride, group.sums + row * cWidth, cWidth / 4);
    };
    group.spreads ? forEachPart(parts, add) : add(0);
  }
}

/// Sums of bf16 are grouped: each sample's rows begin a group, wherever they are stored.
int64_t GroupedProduct::filled(int64_t count) const {
  int64_t unit = whole.depthGroup();
  return (count + unit - 1) / unit * unit;
}

/// Starts the sums, or continues them, with the rows of these samples: of several as copies. Returns whether the sums have begun.
bool GroupedProduct::addInOne(const Group &group, int64_t begin, int64_t end, bool begun) const {
  ProductOperands operands = operandsOf(group, begin, rangeOf(group.call.ranges, begin, group.number).begin);
  int64_t depth = rangeOf(group.call.ranges, begin, group.number).count();
  if (end - begin > 1) {
    operands.a = group.left + group.band * aAcross, operands.b = group.right, depth = 0;
    for (int64_t sample = begin; sample < end; ++sample) {
      Range range = rangeOf(group.call.ranges, sample, group.number);
      ProductOperands from = operandsOf(group, sample, range.begin);
      int64_t next = depth + range.count(), nextGroup = depth + filled(range.count());
      window.copyLeft(group.left + depth * aRow, static_cast<const uint8_t *>(from.a) - group.band * aAcross, range.count());
      window.copyRight(group.right + depth * bRow, static_cast<const uint8_t *>(from.b), range.count());
      window.clear(group.left + next * aRow, group.right + next * bRow, nextGroup - next);
      depth = nextGroup;
    }
  }
  if (depth == 0)
    return begun;
  Product part = begun ? group.product.withDepth(depth) : group.product.withDepth(depth).fromZero();
  runPhases(group, part, 0, part.phases(), operands);
  return true;
}

// ---------------------------------------------------------------------------------------------------------------------------------------

void GroupedProduct::runGroup(const Call &call, int64_t number, bool spreads) const {
  auto *memory = static_cast<uint8_t *>(call.scratch.own()), *rows = memory + productBytes(), *sums = rows + windowBytes();
  bool isThin = few && rowsOf(call.ranges, number) <= few->rows();
  Group group{call, number, spreads, isThin ? *few : spreads ? spread : whole, memory, window.leftOf(rows), window.rightOf(rows), sums};
  grouping == Grouping::Rows ? multiplyRows(group) : accumulates ? accumulate(group) : addRows(group);
}

/// Workers share the product of a group that has much of all rows. Each of the other groups is computed by one of them.
void GroupedProduct::run(const void *a, const void *b, RowRanges ranges, void *c, WorkerScratch &scratch) const {
  Call call{static_cast<const uint8_t *>(a), static_cast<const uint8_t *>(b), ranges, static_cast<uint8_t *>(c), scratch};
  if (grouping == Grouping::Rows)
    clearOthers(call);
  int64_t total = 0;
  for (int64_t group = 0; group < groups; ++group)
    total += rowsOf(ranges, group);
  auto isLarge = [&](int64_t group) { return !isSmall && 2 * threads * rowsOf(ranges, group) > total; };
  auto runAlone = [&](int64_t group) { isLarge(group) ? void() : runGroup(call, group, /*spreads=*/false); };
  for (int64_t group = 0; group < groups; ++group)
    isLarge(group) ? runGroup(call, group, /*spreads=*/true) : void();
  if (!isSmall)
    return forEachPart(groups, runAlone);
  for (int64_t group = 0; group < groups; ++group)
    runAlone(group);
}

} // namespace npar::engine
