// Copies blocks of an operand that windows walk: runs of contiguous elements, with zeros where a window is outside.
#include "engine/product/WalkedOperand.h"

#include <algorithm>
#include <cstring>

namespace npar::engine {

namespace {

int64_t floorDivide(int64_t value, int64_t by) { return value >= 0 ? value / by : -((by - 1 - value) / by); }

/// Short runs are frequent: of three channels, or one.
template <class T> inline void copyElements(const T *from, int64_t count, T *to) {
  constexpr int64_t some = 32 / sizeof(T);
  if (count >= 8 * some) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
    return;
  }
  for (; count >= some; count -= some, from += some, to += some)
    std::memcpy(to, from, 32);
  for (int64_t i = 0; i < count; ++i)
    to[i] = from[i];
}

/// Narrows [begin, end) to the units whose entry, first + step x unit, is one of `size`.
inline void narrow(int64_t first, int64_t step, int64_t size, int64_t &begin, int64_t &end) {
  if (step == 0) {
    if (first < 0 || first >= size)
      end = begin;
  } else if (step == 1) {
    begin = std::max(begin, -first), end = std::min(end, size - first);
  } else if (step > 0) {
    begin = std::max(begin, -floorDivide(first, step)), end = std::min(end, -floorDivide(first - size, step));
  } else {
    begin = std::max(begin, floorDivide(first - size, -step) + 1), end = std::min(end, floorDivide(first, -step) + 1);
  }
}

} // namespace

WalkedOperand::Place WalkedOperand::Side::placeOf(int64_t index) const {
  Place place;
  for (size_t i = loops.size(); i-- > 0; index /= loops[i].size) {
    int64_t value = place.values[i] = index % loops[i].size;
    place.offset += value * loops[i].stride;
    for (size_t w = 0; w < mostWindows; ++w)
      place.entries[w] += value * loops[i].steps[w];
  }
  return place;
}

void WalkedOperand::Side::next(Place &place) const {
  for (size_t i = loops.size(); i-- > 0;) {
    const Loop &loop = loops[i];
    bool wraps = ++place.values[i] == loop.size;
    int64_t by = wraps ? 1 - loop.size : 1;
    place.offset += by * loop.stride;
    for (size_t w = 0; w < mostWindows; ++w)
      place.entries[w] += by * loop.steps[w];
    if (!wraps)
      return;
    place.values[i] = 0;
  }
}

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

/// Number of elements that are contiguous along the side; 0: none.
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

template <class T>
void WalkedOperand::copyRun(const T *data, int64_t offset, const Positions &at, int64_t begin, int64_t end, T *to) const {
  int64_t first = 0, last = units;
  for (size_t w = 0; w < windows; ++w)
    narrow(at[w], unitSteps[w], sizes[w], first, last);
  int64_t left = std::min(std::max(begin, first * length), end), right = std::max(std::min(end, last * length), left);
  std::fill_n(to, left - begin, T(0));
  if (unitStride == length) {
    copyElements(data + offset + left, right - left, to + (left - begin));
  } else if (length == 1) {
    for (int64_t i = left; i < right; ++i)
      to[i - begin] = data[offset + i * unitStride];
  } else {
    for (int64_t i = left; i < right;) {
      int64_t count = std::min(length - i % length, right - i);
      copyElements(data + offset + i / length * unitStride + i % length, count, to + (i - begin));
      i += count;
    }
  }
  std::fill_n(to + (right - begin), end - right, T(0));
}

template <class T>
void WalkedOperand::stage(const T *data, int64_t outerFirst, int64_t outers, int64_t innerFirst, int64_t inners, int64_t stride,
                          T *to) const {
  const int64_t run = units * length;
  const Place start = inner.placeOf(innerFirst / run);
  Place row = outer.placeOf(outerFirst);
  for (int64_t i = 0; i < outers; ++i, outer.next(row), to += stride) {
    Place place = start;
    int64_t begin = innerFirst % run;
    for (int64_t done = 0; done < inners; inner.next(place)) {
      int64_t end = std::min(run, begin + inners - done);
      Positions at{};
      for (size_t w = 0; w < windows; ++w)
        at[w] = entries[w] + row.entries[w] + place.entries[w];
      copyRun(data, origin + row.offset + place.offset, at, begin, end, to + done);
      done += end - begin;
      begin = 0;
    }
  }
}

template <class T> void WalkedOperand::stageBlock(const Block &block, const void *data, int64_t stride, void *to) const {
  const T *from = static_cast<const T *>(data);
  if (across)
    stage(from, block.k, block.depth, block.line, block.lines, stride, static_cast<T *>(to));
  else
    stage(from, block.line, block.lines, block.k, block.depth, stride, static_cast<T *>(to));
}

void WalkedOperand::packStaged(const TileKernels &kernels, const void *data, const Block &whole, char *panels, void *memory) const {
  const int64_t width = isA ? kernels.rows : kernels.columns, group = kernels.group, padded = (whole.depth + group - 1) / group * group;
  const int64_t most = stageBytes / elementBytes;
  // The longer side is along the runs: of k for the lines of a panel, or of lines for a few k.
  const int64_t mostDepth = across ? group : std::max(most / width / group * group, group);
  const int64_t mostLines = across ? std::max(most / group / width * width, width) : width, stride = across ? mostLines : mostDepth;
  for (int64_t top = 0; top < whole.lines; top += mostLines)
    for (int64_t left = 0; left < whole.depth; left += mostDepth) {
      Block block{whole.line + top, std::min(mostLines, whole.lines - top), whole.k + left, std::min(mostDepth, whole.depth - left)};
      if (elementBytes == 8)
        stageBlock<uint64_t>(block, data, stride, memory);
      else if (elementBytes == 4)
        stageBlock<uint32_t>(block, data, stride, memory);
      else
        stageBlock<uint16_t>(block, data, stride, memory);
      for (int64_t first = 0; first < block.lines; first += width) {
        char *to = panels + ((top + first) * padded + left * width) * kernels.packedBytes;
        Operand staged{memory, stride, across == isA};
        if (isA)
          kernels.packA(staged, first, std::min(width, block.lines - first), 0, block.depth, to);
        else
          kernels.packB(staged, 0, block.depth, first, std::min(width, block.lines - first), to);
      }
    }
}

// --- without a stage ------------------------------------------------------------------------------------------------------------------

namespace {

/// A segment is packed in pieces of at most this many k, so that one that is outside is this many zeros.
constexpr int64_t mostPlaced = 256;
alignas(64) constexpr double zeros[mostPlaced] = {};

} // namespace

bool WalkedOperand::isPlaced(const TileKernels &kernels) const {
  if (across)
    return length % (isA ? kernels.rows : kernels.columns) == 0 && (isA ? kernels.packStepsA : kernels.packStepsB);
  return isA && length % kernels.group == 0 && kernels.packRowsA;
}

/// The place of element `within` of a segment, or zeros where a window is outside.
const void *WalkedOperand::placed(const void *data, const Place &first, const Place &second, int64_t within) const {
  for (size_t w = 0; w < windows; ++w)
    if (int64_t entry = entries[w] + first.entries[w] + second.entries[w]; entry < 0 || entry >= sizes[w])
      return zeros;
  return static_cast<const char *>(data) + (origin + first.offset + second.offset + within) * elementBytes;
}

void WalkedOperand::packPlacedLines(const TileKernels &kernels, const void *data, const Block &block, char *panel) const {
  constexpr int mostRows = 32;
  Place lines[mostRows];
  lines[0] = outer.placeOf(block.line);
  for (int64_t r = 1; r < block.lines; ++r)
    outer.next(lines[r] = lines[r - 1]);
  const void *rows[mostRows];
  std::fill_n(rows, kernels.rows, zeros);
  Place segment = segments.placeOf(block.k / length);
  int64_t within = block.k % length;
  for (int64_t done = 0; done < block.depth;) {
    int64_t count = std::min({length - within, block.depth - done, mostPlaced});
    for (int64_t r = 0; r < block.lines; ++r)
      rows[r] = placed(data, lines[r], segment, within);
    kernels.packRowsA(rows, count, panel + done * kernels.rows * kernels.packedBytes);
    done += count, within += count;
    if (within == length)
      segments.next(segment), within = 0;
  }
}

void WalkedOperand::packPlacedSteps(const TileKernels &kernels, const void *data, const Block &block, char *panel) const {
  const int64_t width = isA ? kernels.rows : kernels.columns, within = block.line % length;
  const Place segment = segments.placeOf(block.line / length);
  Place k = outer.placeOf(block.k);
  const void *steps[mostPlaced];
  for (int64_t done = 0; done < block.depth;) {
    int64_t count = std::min(block.depth - done, mostPlaced);
    for (int64_t i = 0; i < count; ++i, outer.next(k))
      steps[i] = placed(data, k, segment, within);
    (isA ? kernels.packStepsA : kernels.packStepsB)(steps, count, panel + done * width * kernels.packedBytes);
    done += count;
  }
}

void WalkedOperand::pack(const TileKernels &kernels, const void *data, int64_t line, int64_t lines, int64_t k, int64_t depth, void *panels,
                         void *memory) const {
  auto *to = static_cast<char *>(panels);
  if (!isPlaced(kernels))
    return packStaged(kernels, data, {line, lines, k, depth}, to, memory);
  const int64_t width = isA ? kernels.rows : kernels.columns, padded = (depth + kernels.group - 1) / kernels.group * kernels.group;
  for (int64_t top = 0; top < lines; top += width, to += width * padded * kernels.packedBytes) {
    Block block{line + top, std::min(width, lines - top), k, depth};
    if (across)
      packPlacedSteps(kernels, data, block, to);
    else
      packPlacedLines(kernels, data, block, to);
  }
}

} // namespace npar::engine
