// Decides how many rows a window holds, and copies them.
#include "engine/backends/cpu/RowWindow.h"

#include "engine/program/Elements.h"

#include <algorithm>
#include <cstring>

namespace npar::engine {

namespace {

constexpr int64_t mostBytes = 2 << 20, leastRows = 64, mostRows = 512;
/// A row of k elements that becomes one of n takes 2 k n operations and k + n copied elements: copying an element takes as long as about 20
/// operations.
constexpr int64_t leastOperations = 200;

} // namespace

RowWindow::RowWindow(const program::Matmul &m) {
  bool byRows = m.grouping() == program::Grouping::Rows;
  auto bytes = static_cast<int64_t>(program::sizeOf(m.type())), resultBytes = static_cast<int64_t>(program::sizeOf(m.result()));
  int64_t in = byRows ? m.k() : m.m();
  if (byRows && m.a_column() == 1)
    left = {m.k() * bytes, m.a_row() * bytes}, right = {m.n() * resultBytes, m.c_row() * resultBytes};
  if (!byRows && m.a_row() == 1 && m.b_column() == 1)
    left = {m.m() * bytes, m.a_column() * bytes}, right = {m.n() * bytes, m.b_row() * bytes};
  bool pays = m.batch()->Get(0) > 1 && 2 * in * m.n() >= leastOperations * (in + m.n());
  if (pays && left.areCopied() && right.areCopied())
    count = std::clamp(mostBytes / (left.stride + right.stride), leastRows, mostRows);
}

void RowWindow::copy(const StoredRows &of, uint8_t *to, const uint8_t *from, int64_t rows) {
  if (of.stride == of.bytes)
    return void(std::memcpy(to, from, static_cast<size_t>(rows * of.bytes)));
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(to + row * of.stride, from + row * of.stride, static_cast<size_t>(of.bytes));
}

void RowWindow::clear(uint8_t *ofLeft, uint8_t *ofRight, int64_t rows) const {
  for (int64_t row = 0; row < rows; ++row) {
    std::memset(ofLeft + row * left.stride, 0, static_cast<size_t>(left.bytes));
    std::memset(ofRight + row * right.stride, 0, static_cast<size_t>(right.bytes));
  }
}

} // namespace npar::engine
