// Divides products with spread windows into products without: rows of C by the remainder of their position.
#include "engine/product/WindowedShape.h"

#include <algorithm>
#include <numeric>

namespace npar::engine {

namespace {

/// The position that a window moves with among `count` of them from `first` on; `count` if there is none.
size_t moving(const Window &window, size_t first, size_t count) {
  size_t at = 0;
  while (at < count && window.steps[first + at] == 0)
    ++at;
  return at;
}

/// From now on position `at` means entry begin + period x position of what it meant.
void rescale(OperandWalk &walk, int64_t &offset, size_t at, int64_t begin, int64_t period) {
  offset += begin * walk.strides[at];
  walk.strides[at] *= period;
  for (Window &window : walk.windows) {
    window.before -= begin * window.steps[at];
    window.steps[at] *= period;
  }
}

int64_t periodOf(const Window &window, size_t at) { return window.spread / std::gcd(window.steps[at], window.spread); }

int64_t countFrom(int64_t size, int64_t begin, int64_t period) { return begin >= size ? 0 : (size - begin + period - 1) / period; }

} // namespace

int64_t RowPlaces::count() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }

int64_t RowPlaces::offset(int64_t row) const {
  int64_t offset = 0;
  for (size_t i = sizes.size(); i-- > 0; row /= sizes[i])
    offset += row % sizes[i] * strides[i];
  return offset;
}

void RowPlaces::offsets(int64_t row, int64_t count, int64_t *to) const {
  for (int64_t done = 0; done < count;) {
    // The innermost positions from here on are a constant stride apart.
    int64_t some = sizes.empty() ? 1 : std::min(sizes.back() - (row + done) % sizes.back(), count - done), first = offset(row + done);
    for (int64_t i = 0; i < some; ++i)
      to[done + i] = first + i * (sizes.empty() ? 0 : strides.back());
    done += some;
  }
}

bool RowPlaces::isEven(int64_t stride) const {
  for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i])
    if (sizes[i] > 1 && strides[i] != stride)
      return false;
  return true;
}

void WindowedPart::keep(size_t number, int64_t remainder) {
  const int64_t spread = shape.a.windows[number].spread;
  size_t row = moving(shape.a.windows[number], 0, shape.m.size());
  if (row < shape.m.size()) {
    int64_t period = periodOf(shape.a.windows[number], row);
    rescale(shape.a, a, row, remainder, period);
    c += remainder * rows.strides[row];
    rows.strides[row] *= period;
    shape.m[row] = rows.sizes[row] = countFrom(shape.m[row], remainder, period);
  }
  size_t k = moving(shape.a.windows[number], shape.m.size(), shape.k.size()), inA = shape.m.size() + k;
  const bool moves = k < shape.k.size();
  int64_t period = moves ? periodOf(shape.a.windows[number], inA) : 1, first = 0, step = moves ? shape.a.windows[number].steps[inA] : 0;
  while (first < period && (first * step - shape.a.windows[number].before) % spread != 0)
    ++first;
  isEmpty = isEmpty || first == period || (moves && first >= shape.k[k]);
  if (isEmpty)
    return;
  if (moves) {
    rescale(shape.a, a, inA, first, period);
    rescale(shape.b, b, k, first, period);
    shape.k[k] = countFrom(shape.k[k], first, period);
  }
  Window &window = shape.a.windows[number];
  for (int64_t &each : window.steps)
    each /= spread;
  window.before /= spread;
  window.spread = 1;
}

std::vector<WindowedPart> partsOf(const WindowedShape &shape, int64_t cStride) {
  std::vector<int64_t> strides(shape.m.size());
  for (size_t i = strides.size(); i-- > 0; cStride *= shape.m[i])
    strides[i] = cStride;
  std::vector<WindowedPart> parts{{shape, RowPlaces(shape.m, strides)}};
  for (size_t number = 0; number < shape.a.windows.size(); ++number) {
    const Window &window = shape.a.windows[number];
    if (window.spread == 1)
      continue;
    size_t row = moving(window, 0, shape.m.size());
    int64_t remainders = row < shape.m.size() ? std::min(periodOf(window, row), shape.m[row]) : 1;
    std::vector<WindowedPart> divided;
    for (const WindowedPart &part : parts)
      for (int64_t remainder = 0; remainder < remainders; ++remainder)
        divided.emplace_back(part).keep(number, remainder);
    parts = std::move(divided);
  }
  return parts;
}

} // namespace npar::engine
