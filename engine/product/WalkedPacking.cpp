// Copies blocks of an operand that windows walk, with zeros where a window is outside, or finds their places.
#include "engine/product/WalkedOperand.h"

#include <algorithm>
#include <cstring>

namespace npar::engine {

namespace {

int64_t floorDivide(int64_t value, int64_t by) { return value >= 0 ? value / by : -((by - 1 - value) / by); }

/// Short runs are frequent: of three channels, or one. The last vector overlaps the one before.
template <class T> inline void copyElements(const T *from, int64_t count, T *to) {
  constexpr int64_t some = 16 / sizeof(T);
  if (count > 16 * some) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  } else if (count >= some) {
    for (int64_t i = 0; i < count - some; i += some)
      std::memcpy(to + i, from + i, 16);
    std::memcpy(to + count - some, from + count - some, 16);
  } else {
    for (int64_t i = 0; i < count; ++i)
      to[i] = from[i];
  }
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

bool WalkedOperand::isInside(const Place &place) const {
  for (size_t w = 0; w < windows; ++w)
    if (int64_t entry = entries[w] + place.entries[w]; entry + least[w] < 0 || entry + greatest[w] >= sizes[w])
      return false;
  return true;
}

/// Elements [begin, end) of a run.
template <class T> void WalkedOperand::copyInside(const T *data, int64_t offset, int64_t begin, int64_t end, T *to) const {
  if (unitStride == length) {
    copyElements(data + offset + begin, end - begin, to);
  } else if (length == 1) {
    for (int64_t i = begin; i < end; ++i)
      to[i - begin] = data[offset + i * unitStride];
  } else {
    for (int64_t i = begin; i < end;) {
      int64_t count = std::min(length - i % length, end - i);
      copyElements(data + offset + i / length * unitStride + i % length, count, to + (i - begin));
      i += count;
    }
  }
}

template <class T>
void WalkedOperand::copyRun(const T *data, int64_t offset, const Positions &at, int64_t begin, int64_t end, T *to) const {
  int64_t first = 0, last = units;
  for (size_t w = 0; w < windows; ++w)
    narrow(at[w], unitSteps[w], sizes[w], first, last);
  int64_t left = std::min(std::max(begin, first * length), end), right = std::max(std::min(end, last * length), left);
  std::fill_n(to, left - begin, T(0));
  copyInside(data, offset, left, right, to + (left - begin));
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
    const bool inside = isInside(row);
    for (int64_t done = 0; done < inners; inner.next(place)) {
      int64_t end = std::min(run, begin + inners - done);
      const int64_t offset = origin + row.offset + place.offset;
      if (inside) {
        copyInside(data, offset, begin, end, to + done);
      } else {
        Positions at{};
        for (size_t w = 0; w < windows; ++w)
          at[w] = entries[w] + row.entries[w] + place.entries[w];
        copyRun(data, offset, at, begin, end, to + done);
      }
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

/// The innermost loop of side `outer` goes by itself: it has most of the places.
void WalkedOperand::placesOf(int64_t first, int64_t count, OuterPlace *places) const {
  Place place = outer.placeOf(first);
  const Loop own = outer.loops.empty() ? Loop{1, 0, {}} : outer.loops.back();
  for (int64_t done = 0; done < count;) {
    const int64_t value = outer.loops.empty() ? 0 : place.values[outer.loops.size() - 1], some = std::min(own.size - value, count - done);
    OuterPlace next{place.offset, place.entries, false};
    for (int64_t i = 0; i < some; ++i) {
      next.isInside = true;
      for (size_t w = 0; w < windows; ++w)
        next.isInside &= entries[w] + next.entries[w] + least[w] >= 0 && entries[w] + next.entries[w] + greatest[w] < sizes[w];
      places[done + i] = next;
      next.offset += own.stride;
      for (size_t w = 0; w < mostWindows; ++w)
        next.entries[w] += own.steps[w];
    }
    done += some;
    if (done == count || outer.loops.empty())
      break;
    place.offset = next.offset - own.stride, place.values[outer.loops.size() - 1] = own.size - 1;
    for (size_t w = 0; w < mostWindows; ++w)
      place.entries[w] = next.entries[w] - own.steps[w];
    outer.next(place);
  }
}

/// The place of element `within` of a segment, or zeros where a window is outside.
inline const char *WalkedOperand::placed(const char *data, const OuterPlace &line, const Place &segment, int64_t within) const {
  if (!line.isInside)
    for (size_t w = 0; w < windows; ++w)
      if (int64_t entry = entries[w] + line.entries[w] + segment.entries[w]; entry < 0 || entry >= sizes[w])
        return reinterpret_cast<const char *>(zeros);
  return data + (origin + line.offset + segment.offset + within) * elementBytes;
}

/// A panel of A whose k are contiguous.
void WalkedOperand::packPlacedLines(const TileKernels &kernels, const char *data, const Block &block, char *panel) const {
  OuterPlace lines[mostTileRows];
  placesOf(block.line, block.lines, lines);
  const void *rows[mostTileRows];
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

/// Panels whose lines are contiguous, a few k at a time.
void WalkedOperand::packPlacedSteps(const TileKernels &kernels, const char *data, const Block &block, char *panels) const {
  const int64_t width = isA ? kernels.rows : kernels.columns, padded = (block.depth + kernels.group - 1) / kernels.group * kernels.group;
  const auto packSteps = isA ? kernels.packStepsA : kernels.packStepsB;
  OuterPlace places[mostPlaced];
  const void *steps[mostPlaced];
  for (int64_t done = 0; done < block.depth; done += mostPlaced) {
    int64_t count = std::min(block.depth - done, mostPlaced);
    placesOf(block.k + done, count, places);
    for (int64_t line = 0; line < block.lines; line += width) {
      const Place segment = segments.placeOf((block.line + line) / length);
      for (int64_t i = 0; i < count; ++i)
        steps[i] = placed(data, places[i], segment, (block.line + line) % length);
      packSteps(steps, count, panels + (line * padded + done * width) * kernels.packedBytes);
    }
  }
}

/// Elements [begin, end) of a run, in place or, where a window is outside somewhere, as a copy.
const void *WalkedOperand::runOf(const char *data, const OuterPlace &line, const Place &run, int64_t begin, int64_t end, char *copy) const {
  const int64_t offset = origin + line.offset + run.offset;
  Positions at{};
  bool inside = true;
  for (size_t w = 0; w < windows && !line.isInside; ++w) {
    at[w] = entries[w] + line.entries[w] + run.entries[w];
    const int64_t last = isMerged() ? at[w] + (units - 1) * unitSteps[w] : at[w];
    inside = inside && std::min(at[w], last) >= 0 && std::max(at[w], last) < sizes[w];
  }
  if (inside)
    return data + (offset + begin) * elementBytes;
  if (!isMerged())
    std::memset(copy, 0, static_cast<size_t>((end - begin) * elementBytes));
  else if (elementBytes == 8)
    copyRun(reinterpret_cast<const uint64_t *>(data), offset, at, begin, end, reinterpret_cast<uint64_t *>(copy));
  else
    copyRun(reinterpret_cast<const uint32_t *>(data), offset, at, begin, end, reinterpret_cast<uint32_t *>(copy));
  return copy;
}

int64_t WalkedOperand::placeRuns(const void *memory, int64_t line, int64_t lines, int64_t width, int64_t k, int64_t depth,
                                 const Runs &runs) const {
  OuterPlace places[mostTileRows];
  placesOf(line, lines, places);
  const bool insides = std::all_of(places, places + lines, [](const OuterPlace &place) { return place.isInside; });
  const auto *data = static_cast<const char *>(memory);
  const int64_t run = runLength();
  const Side &side = isMerged() ? inner : segments;
  Place place = side.placeOf(k / run);
  int64_t begin = k % run, count = 0;
  const void **to = runs.places;
  for (int64_t done = 0; done < depth; ++count, to += width, side.next(place), begin = 0) {
    const int64_t end = std::min(run, begin + depth - done);
    if (insides)
      for (int64_t r = 0; r < lines; ++r)
        to[r] = data + (origin + places[r].offset + place.offset + begin) * elementBytes;
    else
      for (int64_t r = 0; r < lines; ++r)
        to[r] = runOf(data, places[r], place, begin, end, runs.copies + (r * depth + done) * elementBytes);
    std::fill(to + lines, to + width, to[0]);
    runs.depths[count] = end - begin;
    done += end - begin;
  }
  return count;
}

void WalkedOperand::placeSteps(const void *memory, int64_t line, int64_t lines, int64_t width, int64_t k, int64_t depth,
                               int64_t stepsAcross, const void **steps) const {
  OuterPlace places[mostPlaced];
  const auto *data = static_cast<const char *>(memory);
  for (int64_t done = 0; done < depth; done += mostPlaced) {
    const int64_t count = std::min(depth - done, mostPlaced);
    placesOf(k + done, count, places);
    const void **to = steps + done;
    for (int64_t at = line; at < line + lines; at += width, to += stepsAcross) {
      const Place segment = segments.placeOf(at / length);
      for (int64_t i = 0; i < count; ++i)
        to[i] = placed(data, places[i], segment, at % length);
    }
  }
}

void WalkedOperand::pack(const TileKernels &kernels, const void *data, int64_t line, int64_t lines, int64_t k, int64_t depth, void *panels,
                         void *memory) const {
  auto *to = static_cast<char *>(panels);
  const char *from = static_cast<const char *>(data);
  if (!isPlaced(kernels))
    return packStaged(kernels, data, {line, lines, k, depth}, to, memory);
  if (across)
    return packPlacedSteps(kernels, from, {line, lines, k, depth}, to);
  const int64_t panelBytes = kernels.rows * ((depth + kernels.group - 1) / kernels.group * kernels.group) * kernels.packedBytes;
  for (int64_t top = 0; top < lines; top += kernels.rows, to += panelBytes)
    packPlacedLines(kernels, from, {line + top, std::min<int64_t>(kernels.rows, lines - top), k, depth}, to);
}

} // namespace npar::engine
