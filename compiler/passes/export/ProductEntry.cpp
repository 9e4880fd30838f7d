#include "compiler/passes/export/ProductEntry.h"

using namespace mlir;

namespace npar::compiler {

static std::unique_ptr<program::WindowedProductT> windowedEntry(rank::WindowedAttr windowed) {
  auto operand = [](rank::WalkedAttr walked) {
    auto entry = std::make_unique<program::WalkedOperandT>();
    entry->strides = walked.getStrides().vec();
    for (rank::WindowAttr window : walked.getWindows()) {
      auto made = std::make_unique<program::WindowT>();
      made->size = window.getSize(), made->stride = window.getStride();
      made->before = window.getBefore(), made->spread = window.getSpread();
      made->steps = window.getSteps().vec();
      entry->windows.push_back(std::move(made));
    }
    return entry;
  };
  auto entry = std::make_unique<program::WindowedProductT>();
  entry->m = windowed.getM().vec(), entry->n = windowed.getN().vec(), entry->k = windowed.getK().vec();
  entry->a = operand(windowed.getA()), entry->b = operand(windowed.getB());
  return entry;
}

std::unique_ptr<program::MatmulT> productEntry(rank::MatmulOp matmul, program::ElementType type, program::ElementType result) {
  auto entry = std::make_unique<program::MatmulT>();
  size_t loops = matmul.getBatch().size();
  entry->type = type;
  entry->result = result;
  entry->m = matmul.getM();
  entry->n = matmul.getN();
  entry->k = matmul.getK();
  entry->batch = matmul.getBatch().vec();
  auto strides = [&](ArrayRef<int64_t> all, std::vector<int64_t> &batch, int64_t &row, int64_t &column) {
    batch.assign(all.begin(), all.begin() + loops);
    row = all[loops];
    column = all[loops + 1];
  };
  int64_t unit = 1;
  strides(matmul.getA(), entry->a_batch, entry->a_row, entry->a_column);
  strides(matmul.getB(), entry->b_batch, entry->b_row, entry->b_column);
  strides(matmul.getC(), entry->c_batch, entry->c_row, unit);
  if (rank::WindowedAttr windowed = matmul.getWindowedAttr())
    entry->windowed = windowedEntry(windowed);
  entry->accumulate = bool(matmul.getAccumulator());
  entry->tf32 = matmul.getTf32();
  entry->grouping = matmul.getGrouping();
  return entry;
}

} // namespace npar::compiler
