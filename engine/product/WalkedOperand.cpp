// Finds the runs of contiguous elements of an operand that windows walk.
#include "engine/product/WalkedOperand.h"

#include <algorithm>

namespace npar::engine {

WalkedOperand::Side WalkedOperand::sideOf(const std::vector<int64_t> &sizes, const OperandWalk &walk, size_t first) {
  Side side;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Loop loop{sizes[i], walk.strides[first + i], {}};
    for (size_t w = 0; w < walk.windows.size(); ++w) {
      loop.steps[w] = walk.windows[w].steps[first + i];
      loop.stride += loop.steps[w] * walk.windows[w].stride;
    }
    if (loop.size > 1)
      side.loops.push_back(loop);
  }
  return side;
}

/// Neighbours that are one longer loop.
void WalkedOperand::merge(Side &side) {
  std::vector<Loop> merged;
  for (size_t i = side.loops.size(); i-- > 0;) {
    const Loop &loop = side.loops[i];
    bool continues = !merged.empty() && loop.stride == merged.front().size * merged.front().stride;
    for (size_t w = 0; w < mostWindows && continues; ++w)
      continues = loop.steps[w] == merged.front().size * merged.front().steps[w];
    if (continues)
      merged.front().size *= loop.size;
    else
      merged.insert(merged.begin(), loop);
  }
  side.loops = std::move(merged);
}

/// Number of elements that are contiguous along the side.
int64_t WalkedOperand::contiguous(const Side &side) {
  int64_t count = 1;
  for (size_t i = side.loops.size(); i-- > 0 && side.loops[i].stride == count;)
    count *= side.loops[i].size;
  return count;
}

/// Windows that are never outside need no test.
void WalkedOperand::dropWindows(Side &lines, Side &k, const OperandWalk &walk) {
  for (size_t w = 0; w < walk.windows.size(); ++w) {
    int64_t least = -walk.windows[w].before, greatest = least;
    for (const Side *side : {&lines, &k})
      for (const Loop &loop : side->loops) {
        int64_t far = (loop.size - 1) * loop.steps[w];
        least += std::min<int64_t>(far, 0), greatest += std::max<int64_t>(far, 0);
      }
    bool isInside = least >= 0 && greatest < walk.windows[w].size;
    for (Side *side : {&lines, &k})
      for (Loop &loop : side->loops) {
        int64_t step = loop.steps[w];
        loop.steps[w] = 0;
        if (!isInside)
          loop.steps[windows] = step;
      }
    origin -= walk.windows[w].before * walk.windows[w].stride;
    if (!isInside) {
      entries[windows] = -walk.windows[w].before;
      sizes[windows++] = walk.windows[w].size;
    }
  }
}

WalkedOperand::WalkedOperand(const WindowedShape &shape, bool isA, int64_t elementBytes) : isA(isA), elementBytes(elementBytes) {
  const OperandWalk &walk = isA ? shape.a : shape.b;
  Side lines = isA ? sideOf(shape.m, walk, 0) : sideOf(shape.n, walk, shape.k.size());
  Side k = isA ? sideOf(shape.k, walk, shape.m.size()) : sideOf(shape.k, walk, 0);
  dropWindows(lines, k, walk);
  merge(lines);
  merge(k);
  across = contiguous(lines) > contiguous(k);
  outer = across ? k : lines;
  inner = across ? lines : k;
  cutRuns();
}

/// The innermost loop is contiguous elements, if no window tests each of them, and the next one their units; else it is the units.
void WalkedOperand::cutRuns() {
  if (!inner.loops.empty() && inner.loops.back().isPlain() && inner.loops.back().stride == 1) {
    length = unitStride = inner.loops.back().size;
    inner.loops.pop_back();
  }
  segments = inner;
  for (const Loop &loop : inner.loops)
    for (size_t w = 0; w < windows; ++w) {
      int64_t far = (loop.size - 1) * loop.steps[w];
      least[w] += std::min<int64_t>(far, 0), greatest[w] += std::max<int64_t>(far, 0);
    }
  if (!inner.loops.empty()) {
    units = inner.loops.back().size, unitStride = inner.loops.back().stride, unitSteps = inner.loops.back().steps;
    inner.loops.pop_back();
  }
}

std::optional<int64_t> WalkedOperand::plainStride() const {
  bool isContiguous = units == 1 || (length == 1 && unitStride == 1);
  if (windows > 0 || origin != 0 || !inner.loops.empty() || !isContiguous || outer.loops.size() > 1)
    return {};
  return outer.loops.empty() ? units * length : outer.loops.front().stride;
}

} // namespace npar::engine
