// Checks matrix products: sizes and types exist, and no row of an operand is outside it, whatever numbers the file contains.
#include "engine/program/Elements.h"
#include "engine/program/SizeCheck.h"
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
  }
  return "";
}

uint32_t matmulInputs(const Matmul &matmul) { return matmul.grouping() == Grouping::None ? 2 : 4; }

bool reachesBeyond(const Matmul &matmul, const std::vector<uint64_t> &sizes) {
  auto reaches = [&](const flatbuffers::Vector<int64_t> &batch, int64_t rows, int64_t rowStride, int64_t columns, int64_t columnStride,
                     ElementType type, uint64_t limit) {
    Wide last = 0;
    auto add = [&](int64_t size, int64_t stride) {
      last += Wide(static_cast<uint64_t>(size - 1)) * static_cast<uint64_t>(stride);
      return stride >= 0 && last < largestSize;
    };
    bool good = add(rows, rowStride) && add(columns, columnStride);
    for (uint32_t i = 0; good && i < batch.size(); ++i)
      good = add(matmul.batch()->Get(i), batch.Get(i));
    return good && (last + 1) * sizeOf(type) <= limit;
  };
  bool good = reaches(*matmul.a_batch(), matmul.m(), matmul.a_row(), matmul.k(), matmul.a_column(), matmul.type(), sizes[0]) &&
              reaches(*matmul.b_batch(), matmul.k(), matmul.b_row(), matmul.n(), matmul.b_column(), matmul.type(), sizes[1]) &&
              reaches(*matmul.c_batch(), matmul.m(), matmul.c_row(), matmul.n(), 1, matmul.result(), sizes.back());
  if (matmul.grouping() != Grouping::None) { // ranges of rows
    uint64_t ranges = static_cast<uint64_t>(matmul.batch()->Get(0)) * static_cast<uint64_t>(matmul.batch()->Get(1));
    good = good && sizes[2] == ranges * sizeof(int32_t) && sizes[3] == sizes[2];
  }
  return !good;
}

} // namespace npar::program
