// Runs products for every index of a batch list. Either each is spread over workers, or the list is divided into pieces of whole products.
#include "engine/backends/cpu/Products.h"

#include "engine/backends/cpu/BatchLoops.h"
#include "engine/backends/cpu/Workers.h"
#include "engine/program/Elements.h"
#include "engine/program/Words.h"

#include <algorithm>

namespace npar::engine {

namespace {

std::string sizesOf(const program::Matmul &m) { return std::to_string(m.m()) + "x" + std::to_string(m.n()) + "x" + std::to_string(m.k()); }

} // namespace

Products::Products() = default;
Products::~Products() = default;

Status Products::load(const program::Program &program, const Spread &spread, program::ProductOrder order) {
  Result<InstructionSet> set = bestInstructionSet();
  if (!set.ok())
    return set.status();
  if (!program.matmuls())
    return {};
  for (uint32_t i = 0; i < program.matmuls()->size(); ++i) {
    const program::Matmul &matmul = *program.matmuls()->Get(i);
    std::string what = "matrix product " + std::to_string(i) + " (" + sizesOf(matmul) + ")";
    Result<ProductType> type = productType(matmul, order);
    if (!type.ok())
      return Status::badInput(what + " " + type.status().message());
    if (Status status = add(matmul, *type, what, spread, *set); !status.ok())
      return status;
  }
  return {};
}

Status Products::add(const program::Matmul &m, ProductType type, const std::string &what, const Spread &spread, InstructionSet set) {
  if (m.m() < 1 || m.n() < 1 || m.k() < 1)
    return Status::badInput(what + " is empty");
  if (!m.windowed() && ((m.a_row() != 1 && m.a_column() != 1) || (m.b_row() != 1 && m.b_column() != 1)))
    return Status::badInput(what + ": neither the row nor the column stride of an operand is 1");
  ProductShape shape{type,          m.m(), m.n(), m.k(), 0, 0, m.c_row(), m.a_column() != 1, m.b_column() != 1, productResult(m.result()),
                     m.accumulate()};
  shape.continues = m.grouping() == program::Grouping::Depth;
  shape.aStride = shape.aTransposed ? m.a_column() : m.a_row();
  shape.bStride = shape.bTransposed ? m.b_column() : m.b_row();

  BatchLoops loops;
  loops.setSizes(*m.batch());
  for (auto [list, of] : {std::pair(m.a_batch(), m.type()), std::pair(m.b_batch(), m.type()), std::pair(m.c_batch(), m.result())}) {
    if (list->size() != m.batch()->size())
      return Status::badInput(what + ": its batch strides do not match its batch list");
    loops.addOperand(*list, program::sizeOf(of));
  }
  if (m.grouping() != program::Grouping::None) {
    GroupedProduct grouped(m, shape, loops, spread, set);
    scratchBytes = std::max(scratchBytes, grouped.scratchBytes());
    products.emplace_back(std::move(grouped));
    return {};
  }
  addBatched(m, shape, std::move(loops), spread, set);
  return {};
}

void Products::addBatched(const program::Matmul &m, const ProductShape &shape, BatchLoops loops, const Spread &spread, InstructionSet set) {
  const std::vector<WindowedPart> parts = m.windowed() ? partsOf(windowedShape(*m.windowed()), m.c_row()) : std::vector<WindowedPart>();
  const int64_t count = loops.count();
  double operations = 0;
  // Estimate for products of few rows: fetching a byte of B takes a lone worker as long as 8 operations. If that dominates, the other
  // workers are awake and sharing costs almost nothing (ChainRunner::keepAwake).
  constexpr double operationsPerByte = 10;
  if (m.windowed())
    for (const WindowedPart &part : parts)
      operations += operationsOf(part);
  else
    operations = std::max(2.0 * double(m.m()), operationsPerByte * program::sizeOf(m.type())) * double(m.n()) * double(m.k());
  int64_t pieces = piecesOf(operations * double(count), spread);
  // Products stay whole if there are enough of them: then no worker waits for another.
  bool whole = pieces == 1 || count % spread.threads == 0 || count >= 2 * spread.threads;
  Batched batched{{}, {}, std::move(loops), whole ? std::min(pieces, count) : 0};
  auto plan = [&](const ProductShape &planned, int64_t a, int64_t b, int64_t c) {
    Product product(planned, whole ? 1 : static_cast<int>(std::min<int64_t>(pieces, spread.threads)), set);
    scratchBytes = std::max(scratchBytes, product.sharedBytes() + product.partBytes());
    batched.products.push_back({product, a, b, c});
  };
  const auto bytes = static_cast<int64_t>(program::sizeOf(m.type())), resultBytes = static_cast<int64_t>(program::sizeOf(m.result()));
  if (!m.windowed())
    plan(shape, 0, 0, 0);
  for (const WindowedPart &part : parts) {
    if (!part.isEmpty) {
      ProductShape own = shape;
      own.walk(part, bytes);
      plan(own, part.a * bytes, part.b * bytes, part.c * resultBytes);
    } else if (!m.accumulate()) {
      batched.zeros.push_back(ZeroRows(part, m.n(), resultBytes));
    }
  }
  products.emplace_back(std::move(batched));
}

/// A worker's memory holds what a product shares that was started there, then what a part needs that runs there: while a worker waits for
/// parts of its product it runs no others.
void Products::run(uint32_t index, const void *a, const void *b, void *c, WorkerScratch &scratch) const {
  const Batched &batched = std::get<Batched>(products[index]);
  auto runProduct = [&](int64_t at, auto &&forEach) {
    uint8_t *target = static_cast<uint8_t *>(c) + batched.loops.offset(at, 2);
    void *shared = scratch.own();
    for (const Placed &placed : batched.products) {
      const Product &product = placed.product;
      ProductOperands operands{static_cast<const uint8_t *>(a) + batched.loops.offset(at, 0) + placed.a,
                               static_cast<const uint8_t *>(b) + batched.loops.offset(at, 1) + placed.b, target + placed.c};
      for (int64_t phase = 0; phase < product.phases(); ++phase)
        forEach(product.parts(phase), [&](int64_t part) {
          product.run(phase, part, operands, shared, static_cast<uint8_t *>(scratch.own()) + product.sharedBytes());
        });
    }
    for (const ZeroRows &zeros : batched.zeros)
      zeros.clear(target);
  };
  int64_t count = batched.loops.count();
  if (batched.pieces == 0) {
    for (int64_t at = 0; at < count; ++at)
      runProduct(at, forEachPart);
    return;
  }
  auto here = [](int64_t parts, auto &&body) {
    for (int64_t part = 0; part < parts; ++part)
      body(part);
  };
  forEachPart(batched.pieces, [&](int64_t piece) {
    for (int64_t at = count * piece / batched.pieces; at < count * (piece + 1) / batched.pieces; ++at)
      runProduct(at, here);
  });
}

} // namespace npar::engine
