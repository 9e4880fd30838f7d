// Tells whether an input of a program or a file of a data block has pictures.
#pragma once

#include "engine/program/Elements.h"

namespace npar::program {

/// True for whole numbers over samples, rows and columns, perhaps with 1 or 3 channels before the rows. `Shape` is any list of sizes.
template <typename Shape> bool holdsPictures(ElementType type, const Shape &shape) {
  return isInteger(type) && (shape.size() == 3 || (shape.size() == 4 && (shape[1] == 1 || shape[1] == 3)));
}

/// True if files of this format have pictures.
inline bool hasPictures(DataFormat format) { return format == DataFormat::Idx || format == DataFormat::Images; }

} // namespace npar::program
