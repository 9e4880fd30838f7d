// A product's parts, for every index of its batch list, in as many pieces as pay; each worker packs into memory of its own.
#include "engine/backends/cpu/Products.h"

#include "engine/backends/cpu/BatchLoops.h"
#include "engine/backends/cpu/Workers.h"
#include "engine/program/Elements.h"
#include "engine/program/Words.h"

#include <algorithm>

namespace npar::engine {

namespace {

std::string sizesOf(const program::Matmul &m) { return std::to_string(m.m()) + "x" + std::to_string(m.n()) + "x" + std::to_string(m.k()); }

ProductResult resultType(program::ElementType type) {
  return type == program::ElementType::BF16  ? ProductResult::BF16
         : type == program::ElementType::F16 ? ProductResult::F16
                                             : ProductResult::Sums;
}

} // namespace

struct Products::Batched {
  Product product;
  int64_t pieces = 1;
  BatchLoops loops = {}; ///< of A, B, C
  int64_t cRow = 0;
  ProductResult result = ProductResult::Sums;
  bool accumulate = false;
};

Products::Products() = default;
Products::~Products() = default;

Status Products::load(const program::Program &program, const Spread &spread) {
  Result<InstructionSet> set = bestInstructionSet();
  if (!set.ok())
    return set.status();
  if (auto *list = program.matmuls())
    for (uint32_t i = 0; i < list->size(); ++i)
      if (Status status = add(*list->Get(i), "matrix product " + std::to_string(i) + " (" + sizesOf(*list->Get(i)) + ")", spread, *set);
          !status.ok())
        return status;
  return {};
}

Status Products::add(const program::Matmul &m, const std::string &what, const Spread &spread, InstructionSet set) {
  Result<ProductType> type = productType(m.type());
  if (!type.ok())
    return Status::badInput(what + " " + type.status().message());
  if (m.m() < 1 || m.n() < 1 || m.k() < 1)
    return Status::badInput(what + " is empty");
  if ((m.a_row() != 1 && m.a_column() != 1) || (m.b_row() != 1 && m.b_column() != 1))
    return Status::badInput(what + ": neither the row nor the column stride of an operand is 1");
  ProductShape shape{*type, m.m(), m.n(), m.k(), 0, 0, m.a_column() != 1, m.b_column() != 1};
  shape.aStride = shape.aTransposed ? m.a_column() : m.a_row();
  shape.bStride = shape.bTransposed ? m.b_column() : m.b_row();

  BatchLoops loops;
  loops.setSizes(*m.batch());
  for (auto [list, of] : {std::pair(m.a_batch(), m.type()), std::pair(m.b_batch(), m.type()), std::pair(m.c_batch(), m.result())}) {
    if (list->size() != m.batch()->size())
      return Status::badInput(what + ": its batch strides do not match its batch list");
    loops.addOperand(*list, program::sizeOf(of));
  }
  int64_t count = loops.count();

  // Products of a batch are spread whole where there are enough of them: cut, each would pack more.
  int64_t pieces = piecesOf(2.0 * double(m.m()) * double(m.n()) * double(m.k()) * double(count), spread);
  bool whole = pieces == 1 || count >= 2 * spread.threads;
  Batched batched{Product(shape, whole ? 1 : static_cast<int>(std::min<int64_t>(pieces, spread.threads)), set)};
  batched.pieces = std::min(pieces, count * batched.product.parts());
  batched.loops = std::move(loops);
  batched.cRow = m.c_row(), batched.result = resultType(m.result()), batched.accumulate = m.accumulate();
  scratchBytes = std::max(scratchBytes, batched.product.scratchBytes());
  products.push_back(std::move(batched));
  return {};
}

void Products::runPart(const Batched &batched, int64_t item, const void *a, const void *b, void *c, void *memory) const {
  int64_t index = item / batched.product.parts();
  const BatchLoops &loops = batched.loops;
  Epilogue epilogue{static_cast<uint8_t *>(c) + loops.offset(index, 2), batched.cRow, batched.result, batched.accumulate};
  batched.product.run(static_cast<int>(item % batched.product.parts()), static_cast<const uint8_t *>(a) + loops.offset(index, 0),
                      static_cast<const uint8_t *>(b) + loops.offset(index, 1), epilogue, memory);
}

void Products::run(uint32_t index, const void *a, const void *b, void *c, WorkerScratch &scratch) const {
  const Batched &batched = products[index];
  int64_t items = batched.loops.count() * batched.product.parts();
  forEachPart(batched.pieces, [&](int64_t piece) {
    void *memory = scratch.own();
    for (int64_t item = items * piece / batched.pieces; item < items * (piece + 1) / batched.pieces; ++item)
      runPart(batched, item, a, b, c, memory);
  });
}

} // namespace npar::engine
