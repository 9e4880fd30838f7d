// How much scratch memory this machine's matrix product needs: asked by the memory plan (through the driver) and checked at load.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>

namespace npar::engine {

/// One 2-D product C[m,n] (+)= A[m,k] B[k,n] with element strides; one of row and column stride is 1, C's column stride is 1.
struct MatmulShape {
  program::ElementType type = program::ElementType::F32;   ///< of A and B
  program::ElementType result = program::ElementType::F32; ///< of C
  int64_t m = 0, n = 0, k = 0;
  int64_t aRow = 0, aColumn = 0, bRow = 0, bColumn = 0, cRow = 0;
  bool accumulate = false;
};

/// Bytes for the product whole or split over rows into up to `matmulMaxParts` parts, whichever needs more; 0 for none.
/// A multiple of 64. Thread-safe.
uint64_t matmulWorkspace(const MatmulShape &shape);

constexpr int matmulMaxParts = 4;
/// Rows of every part but the last when m rows go to `parts` workers.
int64_t rowsPerPart(int64_t m, int parts);

} // namespace npar::engine
