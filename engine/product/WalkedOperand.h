// An operand of a product whose elements are at places of their own (WindowedShape.h), and how it is packed into panels.
#pragma once

#include "engine/product/TileKernels.h"
#include "engine/product/WindowedShape.h"

#include <array>
#include <cstdlib>
#include <optional>

namespace npar::engine {

/// Windows have no `spread` here. The operand's lines are rows of A or columns of B. Where contiguous elements fill whole groups of a
/// panel, the instruction set packs them from their places. Otherwise blocks of the operand are copied to a stage, and packed from there:
/// nothing but the panels is larger than a stage.
class WalkedOperand {
public:
  /// The elements of a product's type in memory have `elementBytes`.
  static WalkedOperand ofA(const WindowedShape &shape, int64_t elementBytes) { return {shape, true, elementBytes}; }
  static WalkedOperand ofB(const WindowedShape &shape, int64_t elementBytes) { return {shape, false, elementBytes}; }

  /// The stride of the operand if it is one with a constant stride between rows, whose first element has the offset zero.
  std::optional<int64_t> plainStride() const;
  /// Returns whether lines are contiguous rather than k (rows of A: transposed; columns of B: not).
  bool runsAcross() const { return across; }
  /// Packs [line, line + lines) x [k, k + depth) of `data`.
  void pack(const TileKernels &kernels, const void *data, int64_t line, int64_t lines, int64_t k, int64_t depth, void *panels,
            void *stage) const;
  static constexpr int64_t stageBytes = 16 << 10;
  /// Number of elements that are contiguous wherever no window is outside: of k, or of lines if these are what is contiguous.
  int64_t runLength() const { return isMerged() ? units * length : length; }
  /// Number of those that the windows do not tell apart.
  int64_t segmentLength() const { return length; }
  /// Elements from one line (or k) to the next, if these are what is not contiguous.
  int64_t outerStride() const { return outer.loops.empty() ? 0 : std::abs(outer.loops.back().stride); }
  /// Memory for placeRuns: the depth of each run, places of `width` lines for each, and copies of lines: `width` x the depth of elements.
  struct Runs {
    int64_t *depths;
    const void **places;
    char *copies;
  };
  /// Gives the places of [line, line + lines) for runs that make up [k, k + depth), and returns their number. Runs that are partly outside
  /// are copied. Places of the other lines up to `width` are readable. Requires !runsAcross(); there are depth / runLength() + 2 runs at
  /// most.
  int64_t placeRuns(const void *data, int64_t line, int64_t lines, int64_t width, int64_t k, int64_t depth, const Runs &runs) const;
  /// Gives the places of panels of `width` lines, from `line` on, for each of [k, k + depth). The places of one panel
  /// begin `stepsAcross` after those of the previous one. Requires runsAcross(); the lines of a panel are in one segment.
  void placeSteps(const void *data, int64_t line, int64_t lines, int64_t width, int64_t k, int64_t depth, int64_t stepsAcross,
                  const void **steps) const;

private:
  using Positions = std::array<int64_t, mostWindows>;
  /// A position, innermost last: elements and window entries from one of its values to the next.
  struct Loop {
    int64_t size, stride;
    Positions steps;
    bool isPlain() const { return steps == Positions{}; }
  };
  /// A place on one side, and the values of the loops there.
  struct Place {
    int64_t offset = 0;
    Positions entries{};
    std::array<int64_t, mostPositions> values{};
  };
  /// The positions of lines or of k.
  struct Side {
    std::vector<Loop> loops;
    Place placeOf(int64_t index) const;
    void next(Place &place) const;
  };

  WalkedOperand(const WindowedShape &shape, bool isA, int64_t elementBytes);
  static Side sideOf(const std::vector<int64_t> &sizes, const OperandWalk &walk, size_t first);
  static void merge(Side &side);
  static int64_t contiguous(const Side &side);
  void dropWindows(Side &lines, Side &k, const OperandWalk &walk);
  void cutRuns();
  struct Block {
    int64_t line, lines, k, depth;
  };
  /// A place of side `outer`; no window is outside at any of side `inner` if `isInside`.
  struct OuterPlace {
    int64_t offset;
    Positions entries;
    bool isInside;
  };
  /// Packs a panel from the places of its lines or of its k, without a stage.
  bool isPlaced(const TileKernels &kernels) const;
  /// Neighbouring units are contiguous, too.
  bool isMerged() const { return unitStride == length && units > 1; }
  const void *runOf(const char *data, const OuterPlace &line, const Place &run, int64_t begin, int64_t end, char *copy) const;
  bool isInside(const Place &place) const;
  void placesOf(int64_t first, int64_t count, OuterPlace *places) const;
  const char *placed(const char *data, const OuterPlace &line, const Place &segment, int64_t within) const;
  void packPlacedLines(const TileKernels &kernels, const char *data, const Block &block, char *panel) const;
  void packPlacedSteps(const TileKernels &kernels, const char *data, const Block &block, char *panels) const;
  void packStaged(const TileKernels &kernels, const void *data, const Block &block, char *panels, void *stage) const;
  template <class T> void stageBlock(const Block &block, const void *data, int64_t stride, void *to) const;
  template <class T> void stage(const T *data, int64_t outer, int64_t outers, int64_t inner, int64_t inners, int64_t stride, T *to) const;
  template <class T> void copyInside(const T *data, int64_t offset, int64_t begin, int64_t end, T *to) const;
  template <class T> void copyRun(const T *data, int64_t offset, const Positions &at, int64_t begin, int64_t end, T *to) const;

  bool isA, across = false;
  int64_t elementBytes, origin = 0;
  Positions entries{}, sizes{};
  size_t windows = 0;
  /// Side `inner` is contiguous, and its innermost loops are a run: `units` of `length` contiguous elements each.
  Side outer, inner;
  /// Side `inner` in segments of `length` contiguous elements: its loops with that over units.
  Side segments;
  int64_t units = 1, length = 1, unitStride = 0;
  Positions unitSteps{};
  /// The range of the entries that side `inner` adds.
  Positions least{}, greatest{};
};

} // namespace npar::engine
