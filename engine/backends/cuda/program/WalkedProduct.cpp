// Writes the parts of a windowed product as parameters of kernels.
#include "engine/backends/cuda/program/WalkedProduct.h"

#include "engine/backends/cpu/WindowedProducts.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <numeric>

namespace npar::engine::cuda {

namespace {

using Sizes = std::vector<int64_t>;

int64_t volume(const Sizes &sizes) { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }

/// A kernel has at least one position.
int positions(size_t count) { return static_cast<int>(std::max<size_t>(1, count)); }

/// The positions of an operand from `first` on, as many as there are sizes.
PlaceParameters placesOf(const Sizes &sizes, const OperandWalk &walk, size_t first) {
  PlaceParameters places = {};
  for (size_t i = 0; i < sizes.size(); ++i) {
    places.sizes[i] = sizes[i], places.strides[i] = walk.strides[first + i];
    for (size_t window = 0; window < walk.windows.size(); ++window)
      places.steps[window][i] = walk.windows[window].steps[first + i];
  }
  return places;
}

std::array<WindowParameters, mostWindows> windowsOf(const OperandWalk &walk) {
  std::array<WindowParameters, mostWindows> windows = {};
  for (size_t i = 0; i < walk.windows.size(); ++i)
    windows[i] = {walk.windows[i].size, walk.windows[i].stride, walk.windows[i].before};
  return windows;
}

/// 1 if the next k is the next element of the operand, inside a window too; else 0.
int64_t isContiguous(const OperandWalk &walk, size_t position) {
  int64_t distance = walk.strides[position];
  for (const Window &window : walk.windows)
    distance += window.steps[position] * window.stride;
  return distance == 1 ? 1 : 0;
}

} // namespace

WalkKind walkKind(const program::WindowedProduct &product) {
  return {positions(product.m()->size()), positions(product.n()->size()), positions(product.k()->size()),
          static_cast<int>(product.a()->windows()->size()), static_cast<int>(product.b()->windows()->size())};
}

std::vector<WalkedLaunch> walkedLaunches(const program::Matmul &m) {
  const auto bytes = static_cast<int64_t>(program::sizeOf(m.type())), resultBytes = static_cast<int64_t>(program::sizeOf(m.result()));
  std::vector<WalkedLaunch> launches;
  for (const WindowedPart &part : partsOf(windowedShape(*m.windowed()), m.c_row())) {
    if (part.isEmpty && m.accumulate())
      continue;
    const WindowedShape &shape = part.shape;
    const size_t rows = shape.m.size(), depth = shape.k.size();
    WalkedLaunch launch;
    launch.a = part.a * bytes, launch.b = part.b * bytes, launch.c = part.c * resultBytes;
    WalkedProductParameters &to = launch.parameters;
    to.product.m = volume(shape.m), to.product.n = volume(shape.n), to.product.k = part.isEmpty ? 0 : volume(shape.k);
    if (depth > 0)
      to.product.aColumn = isContiguous(shape.a, rows + depth - 1), to.product.bRow = isContiguous(shape.b, depth - 1);
    to.aRows = placesOf(shape.m, shape.a, 0), to.aDepth = placesOf(shape.k, shape.a, rows);
    to.bDepth = placesOf(shape.k, shape.b, 0), to.bColumns = placesOf(shape.n, shape.b, depth);
    to.aWindows = windowsOf(shape.a), to.bWindows = windowsOf(shape.b);
    std::copy(shape.m.begin(), shape.m.end(), to.cRows.sizes.begin());
    std::copy(part.rows.distances().begin(), part.rows.distances().end(), to.cRows.strides.begin());
    launches.push_back(launch);
  }
  return launches;
}

} // namespace npar::engine::cuda
