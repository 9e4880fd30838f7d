// Reads windowed products from a program's tables.
#include "engine/backends/cpu/WindowedProducts.h"

#include <cstring>

namespace npar::engine {

namespace {

std::vector<int64_t> listOf(const flatbuffers::Vector<int64_t> &list) { return {list.begin(), list.end()}; }

OperandWalk walkOf(const program::WalkedOperand &operand) {
  OperandWalk walk{listOf(*operand.strides()), {}};
  for (const program::Window *window : *operand.windows())
    walk.windows.push_back({window->size(), window->stride(), listOf(*window->steps()), window->before(), window->spread()});
  return walk;
}

} // namespace

WindowedShape windowedShape(const program::WindowedProduct &product) {
  return {listOf(*product.m()), listOf(*product.n()), listOf(*product.k()), walkOf(*product.a()), walkOf(*product.b())};
}

double operationsOf(const WindowedPart &part) {
  double operations = part.isEmpty ? 0 : 2;
  for (const std::vector<int64_t> *sizes : {&part.shape.m, &part.shape.n, &part.shape.k})
    for (int64_t size : *sizes)
      operations *= double(size);
  return operations;
}

void ZeroRows::clear(uint8_t *c) const {
  for (int64_t row = 0; row < rows.count(); ++row)
    std::memset(c + (first + rows.offset(row)) * elementBytes, 0, static_cast<size_t>(columns * elementBytes));
}

} // namespace npar::engine
