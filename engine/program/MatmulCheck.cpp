// Checks matrix products: sizes and types exist, and no row of an operand is outside it, whatever numbers the file contains.
#include "engine/program/Elements.h"
#include "engine/program/SizeCheck.h"
#include "engine/program/WindowLimits.h"
#include "engine/program/Words.h"

namespace npar::program {
namespace {

/// Returns whether a grouped product's operands move with samples and groups as its kind says.
bool groups(const Matmul &matmul) {
  if (matmul.grouping() == Grouping::None)
    return true;
  if (matmul.batch()->size() != 2 || (matmul.accumulate() && matmul.grouping() == Grouping::Rows))
    return false;
  auto moves = [](const flatbuffers::Vector<int64_t> &strides, bool withSamples) { return strides.Get(withSamples ? 1 : 0) == 0; };
  bool isOfRows = matmul.grouping() == Grouping::Rows;
  bool sums = matmul.type() == ElementType::F64 ? matmul.result() == ElementType::F64 : matmul.result() == ElementType::F32;
  return moves(*matmul.a_batch(), true) && moves(*matmul.b_batch(), !isOfRows) && moves(*matmul.c_batch(), isOfRows) &&
         (isOfRows || sums); // chains of several samples continue in C
}

using Sizes = flatbuffers::Vector<int64_t>;

/// Returns whether the sizes are those of a tuple of positions whose product is `whole`.
bool isTuple(const Sizes &sizes, int64_t whole) {
  uint64_t all = 0;
  return sizes.size() <= mostPositions && product(sizes, all) && all == static_cast<uint64_t>(whole);
}

/// Returns whether the window can walk positions of these sizes, and no entry overflows.
bool isWindow(const Window &window, const std::vector<int64_t> &sizes) {
  if (window.size() < 1 || window.stride() < 0 || window.spread() < 1 || window.steps()->size() != sizes.size())
    return false;
  auto magnitude = [](int64_t value) { return value < 0 ? Wide(0) - Wide(value) : Wide(value); };
  Wide reach = magnitude(window.before()) + static_cast<uint64_t>(window.spread());
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    Wide step = magnitude(window.steps()->Get(i));
    if (step > largestSize)
      return false;
    reach += step * static_cast<uint64_t>(sizes[i]);
    if (reach > largestSize)
      return false;
  }
  return Wide(static_cast<uint64_t>(window.stride())) * reach <= largestSize / 4; // addresses outside are computed, too
}

/// Number of positions that a window moves with, of those from `first` on; marks them in `spread`, and returns 2 where one was marked
/// before.
int moves(const Window &window, size_t first, size_t count, std::vector<bool> &spread) {
  int all = 0;
  for (size_t i = first; i < first + count; ++i)
    if (window.steps()->Get(static_cast<uint32_t>(i)) != 0) {
      all += spread[i] ? 2 : 1;
      spread[i] = true;
    }
  return all;
}

std::vector<int64_t> joined(const Sizes &first, const Sizes &second) {
  std::vector<int64_t> all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

bool isWalked(const WalkedOperand &operand, const std::vector<int64_t> &sizes, size_t rows, bool spreads) {
  if (operand.strides()->size() != sizes.size() || operand.windows()->size() > mostWindows)
    return false;
  std::vector<bool> spread(sizes.size());
  for (const Window *window : *operand.windows()) {
    if (!isWindow(*window, sizes))
      return false;
    if (window->spread() != 1 && (!spreads || moves(*window, 0, rows, spread) > 1 || moves(*window, rows, sizes.size() - rows, spread) > 1))
      return false;
  }
  return true;
}

bool isWindowed(const Matmul &matmul) {
  if (!matmul.windowed())
    return true;
  const WindowedProduct &w = *matmul.windowed();
  return matmul.grouping() == Grouping::None && !matmul.a_row() && !matmul.a_column() && !matmul.b_row() && !matmul.b_column() &&
         isTuple(*w.m(), matmul.m()) && isTuple(*w.n(), matmul.n()) && isTuple(*w.k(), matmul.k()) &&
         isWalked(*w.a(), joined(*w.m(), *w.k()), w.m()->size(), true) && isWalked(*w.b(), joined(*w.k(), *w.n()), w.k()->size(), false);
}

/// The greatest address of an operand, in elements; less than `largestSize`.
struct Reach {
  Wide last = 0;
  bool add(int64_t size, int64_t stride) {
    last += Wide(static_cast<uint64_t>(size - 1)) * static_cast<uint64_t>(stride);
    return stride >= 0 && last < largestSize;
  }
  bool add(const Sizes &sizes, const Sizes &strides) {
    bool good = true;
    for (uint32_t i = 0; good && i < sizes.size(); ++i)
      good = add(sizes.Get(i), strides.Get(i));
    return good;
  }
  bool add(const WalkedOperand &operand, const std::vector<int64_t> &sizes) {
    bool good = true;
    for (uint32_t i = 0; good && i < sizes.size(); ++i)
      good = add(sizes[i], operand.strides()->Get(i));
    for (uint32_t i = 0; good && i < operand.windows()->size(); ++i)
      good = add(operand.windows()->Get(i)->size(), operand.windows()->Get(i)->stride());
    return good;
  }
  bool fits(ElementType type, uint64_t bytes) const { return (last + 1) * sizeOf(type) <= bytes; }
};

} // namespace

std::string checkMatmuls(const Program &program) {
  for (const Matmul *matmul : *program.matmuls()) {
    uint64_t work = 0, batch = 0;
    std::vector<int64_t> sizes = {matmul->m(), matmul->n(), matmul->k()};
    if (!product(sizes, work) || !product(*matmul->batch(), batch) || !known(matmul->type()) || !known(matmul->result()) ||
        matmul->a_batch()->size() != matmul->batch()->size() || matmul->b_batch()->size() != matmul->batch()->size() ||
        matmul->c_batch()->size() != matmul->batch()->size())
      return "a matrix product has impossible sizes";
    bool stores = matmul->result() == matmul->type() || matmul->result() == widened(matmul->type());
    if (!isFloating(matmul->type()) || !stores)
      return "a matrix product of " + std::string(wordOf(matmul->type())) + " with a result of " + wordOf(matmul->result());
    if (matmul->tf32() && matmul->type() != ElementType::F32)
      return "a matrix product of " + std::string(wordOf(matmul->type())) + " that rounds its operands to tf32";
    if (!known(matmul->grouping()) || !groups(*matmul))
      return "a grouped matrix product whose samples or groups are impossible";
    if (!isWindowed(*matmul))
      return "a matrix product whose windows are impossible";
  }
  return "";
}

uint32_t matmulInputs(const Matmul &matmul) { return matmul.grouping() == Grouping::None ? 2 : 4; }

bool reachesBeyond(const Matmul &matmul, const std::vector<uint64_t> &sizes) {
  const Sizes &batch = *matmul.batch();
  Reach a, b, c;
  bool good = a.add(batch, *matmul.a_batch()) && b.add(batch, *matmul.b_batch()) && c.add(batch, *matmul.c_batch()) &&
              c.add(matmul.m(), matmul.c_row()) && c.add(matmul.n(), 1);
  if (const WindowedProduct *w = matmul.windowed())
    good = good && a.add(*w->a(), joined(*w->m(), *w->k())) && b.add(*w->b(), joined(*w->k(), *w->n()));
  else
    good = good && a.add(matmul.m(), matmul.a_row()) && a.add(matmul.k(), matmul.a_column()) && b.add(matmul.k(), matmul.b_row()) &&
           b.add(matmul.n(), matmul.b_column());
  good = good && a.fits(matmul.type(), sizes[0]) && b.fits(matmul.type(), sizes[1]) && c.fits(matmul.result(), sizes.back());
  if (matmul.grouping() != Grouping::None) { // ranges of rows
    uint64_t ranges = static_cast<uint64_t>(matmul.batch()->Get(0)) * static_cast<uint64_t>(matmul.batch()->Get(1));
    good = good && sizes[2] == ranges * sizeof(int32_t) && sizes[3] == sizes[2];
  }
  return !good;
}

} // namespace npar::program
