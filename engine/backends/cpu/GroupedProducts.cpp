// Walks groups and samples: a group's matrix is packed once for all samples, and sums over rows continue from sample to sample.
#include "engine/backends/cpu/GroupedProducts.h"

#include "engine/backends/cpu/Workers.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <cstring>

namespace npar::engine {

using program::Grouping;

/// The operands of one run, and the scratch of the workers.
struct GroupedProduct::Call {
  const uint8_t *a, *b;
  RowRanges ranges;
  uint8_t *c;
  WorkerScratch &scratch;
};

GroupedProduct::GroupedProduct(const program::Matmul &m, const ProductShape &shape, BatchLoops loops, const Spread &spread,
                               InstructionSet set)
    : grouping(m.grouping()), loops(std::move(loops)), samples(m.batch()->Get(0)), groups(m.batch()->Get(1)),
      rows(grouping == Grouping::Rows ? m.m() : m.k()), aRow(grouping == Grouping::Rows ? m.a_row() : m.a_column()),
      bRow(grouping == Grouping::Rows ? 0 : m.b_row()), cRow(grouping == Grouping::Rows ? m.c_row() : 0), cRows(m.m()),
      threads(spread.threads), whole(shape, 1, set), spread(shape, spread.threads, set) {
  auto bytes = static_cast<int64_t>(program::sizeOf(m.type())), resultBytes = static_cast<int64_t>(program::sizeOf(m.result()));
  aRow *= bytes, bRow *= bytes, cRow *= resultBytes;
  cStride = m.c_row() * resultBytes, cWidth = m.n() * resultBytes;
  isSmall = piecesOf(2.0 * double(m.m()) * double(m.n()) * double(m.k()) * double(samples), spread) == 1;
}

uint64_t GroupedProduct::scratchBytes() const {
  return std::max(whole.sharedBytes() + whole.partBytes(), spread.sharedBytes() + spread.partBytes());
}

/// Nothing outside of the sample's rows, whatever the data say.
GroupedProduct::Range GroupedProduct::rangeOf(const RowRanges &ranges, int64_t sample, int64_t group) const {
  int64_t at = sample * groups + group, begin = std::clamp<int64_t>(ranges.first[at], 0, rows);
  return {begin, std::clamp<int64_t>(ranges.last[at], begin, rows)};
}

/// Groups go to workers whole if none is more than a worker's share of the rows. Otherwise the workers share each product.
bool GroupedProduct::spreadsGroups(const RowRanges &ranges) const {
  int64_t total = 0, most = 0;
  for (int64_t group = 0; group < groups; ++group) {
    int64_t count = 0;
    for (int64_t sample = 0; sample < samples; ++sample) {
      Range range = rangeOf(ranges, sample, group);
      count += range.end - range.begin;
    }
    total += count, most = std::max(most, count);
  }
  return most * threads <= total;
}

/// Zeros in the rows of no group, or where the sums begin.
void GroupedProduct::clear(const RowRanges &ranges, void *c) const {
  auto zero = [&](int64_t place, int64_t begin, int64_t end) {
    uint8_t *from = static_cast<uint8_t *>(c) + loops.offset(place, 2);
    for (int64_t row = begin; row < end; ++row)
      std::memset(from + row * cStride, 0, static_cast<size_t>(cWidth));
  };
  for (int64_t group = 0; group < groups && grouping == Grouping::Depth; ++group)
    zero(group, 0, cRows);
  for (int64_t sample = 0; sample < samples && grouping == Grouping::Rows; ++sample) {
    int64_t done = 0;
    for (int64_t group = 0; group < groups; ++group) {
      Range range = rangeOf(ranges, sample, group);
      zero(sample * groups, done, range.begin);
      done = std::max(done, range.end);
    }
    zero(sample * groups, done, rows);
  }
}

template <typename ForEach>
void GroupedProduct::runGroup(const Call &call, const Product &product, int64_t group, ForEach &&forEach) const {
  void *shared = call.scratch.own();
  bool isPacked = false;
  for (int64_t sample = 0; sample < samples; ++sample) {
    Range range = rangeOf(call.ranges, sample, group);
    int64_t count = range.end - range.begin, place = sample * groups + group;
    if (count == 0)
      continue;
    Product part = grouping == Grouping::Rows ? product.withRows(count) : product.withDepth(count);
    ProductOperands operands{call.a + loops.offset(place, 0) + range.begin * aRow, call.b + loops.offset(place, 1) + range.begin * bRow,
                             call.c + loops.offset(place, 2) + range.begin * cRow};
    bool keeps = grouping == Grouping::Rows && part.keepsPanels();
    for (int64_t phase = keeps && isPacked ? 1 : 0; phase < part.phases(); ++phase)
      forEach(part.parts(phase),
              [&](int64_t i) { part.run(phase, i, operands, shared, static_cast<uint8_t *>(call.scratch.own()) + product.sharedBytes()); });
    isPacked = keeps;
  }
}

void GroupedProduct::run(const void *a, const void *b, RowRanges ranges, void *c, WorkerScratch &scratch) const {
  clear(ranges, c);
  Call call{static_cast<const uint8_t *>(a), static_cast<const uint8_t *>(b), ranges, static_cast<uint8_t *>(c), scratch};
  auto here = [](int64_t parts, auto &&body) {
    for (int64_t part = 0; part < parts; ++part)
      body(part);
  };
  if (!isSmall && spreadsGroups(ranges)) {
    forEachPart(groups, [&](int64_t group) { runGroup(call, whole, group, here); });
    return;
  }
  for (int64_t group = 0; group < groups; ++group)
    isSmall ? runGroup(call, whole, group, here) : runGroup(call, spread, group, forEachPart);
}

} // namespace npar::engine
