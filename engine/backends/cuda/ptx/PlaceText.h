// The places of a walked operand's elements (engine/product/WindowedShape.h) as PTX: a table of places in shared memory, from the numbers
// of lines.
#pragma once

#include "engine/backends/cuda/ptx/Ptx.h"
#include "engine/product/WindowedShape.h"

#include <array>

namespace npar::engine::cuda {

/// Parameters of a kernel: how an operand moves along a tuple of positions, in elements and in entries of its windows.
struct PlaceParameters {
  std::array<int64_t, mostPositions> sizes, strides;
  std::array<std::array<int64_t, mostPositions>, mostWindows> steps;
};

/// Parameters of a kernel: a dimension that a window walks, without `spread`.
struct WindowParameters {
  int64_t size, stride, before;
};

/// Places of consecutive lines: for each line the elements from the operand's first, and the entry of each window.
class PlaceTable {
public:
  /// A table of `lines` lines whose PlaceParameters begin at parameter `parameter`. `positions` and `windows` of them are used.
  PlaceTable(PtxKernel &kernel, int lines, int parameter, int positions, int windows);

  /// The threads from `firstThread` on compute the places of the lines from `first` on, one each. A barrier must follow.
  void fill(const Operand &thread, int firstThread, const Operand &first);

  struct Place {
    Operand offset;
    std::array<Operand, mostWindows> entries;
  };
  /// The place of a line, counted from `first`.
  Place place(const Operand &line) const;

private:
  static constexpr int wordBytes = 8;
  int lineBytes() const { return (1 + windows) * wordBytes; }
  Operand lineAddress(const Operand &line) const;

  PtxKernel *kernel;
  int lines, parameter, positions, windows;
  Operand memory;
};

/// The windows of an operand, which join the places of two tables.
class WalkedPlaces {
public:
  /// WindowParameters begin at parameter `parameter`.
  WalkedPlaces(PtxKernel &kernel, int parameter, int windows);

  /// The elements from the operand's first to the one at a place of each side. Without such an element `exists` becomes false.
  Operand offset(const PlaceTable::Place &line, const PlaceTable::Place &depth, Operand &exists) const;

private:
  struct Window {
    Operand size, stride, before;
  };
  PtxKernel *kernel;
  std::vector<Window> windows;
};

} // namespace npar::engine::cuda
