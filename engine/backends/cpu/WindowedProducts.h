// Windowed products of a program (convolutions) in the form that engine/product takes.
#pragma once

#include "engine/product/WindowedShape.h"
#include "engine/program/Program_generated.h"

namespace npar::engine {

WindowedShape windowedShape(const program::WindowedProduct &product);
/// Floating-point operations of a part for one index of the batch list.
double operationsOf(const WindowedPart &part);

/// Rows of C to which no window contributes.
class ZeroRows {
public:
  ZeroRows(const WindowedPart &part, int64_t columns, int64_t elementBytes)
      : rows(part.rows), first(part.c), columns(columns), elementBytes(elementBytes) {}
  void clear(uint8_t *c) const;

private:
  RowPlaces rows;
  int64_t first, columns, elementBytes;
};

} // namespace npar::engine
