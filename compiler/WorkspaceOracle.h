// How much scratch memory a library call needs on the target machine: asked by the memory plan, answered by the engine's side.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>

namespace npar::compiler {

/// One 2-D product C[m,n] (+)= A[m,k] B[k,n] with element strides, as the engine will issue it.
struct MatmulShape {
  program::ElementType type = program::ElementType::F32;   ///< of A and B
  program::ElementType result = program::ElementType::F32; ///< of C
  int64_t m = 0, n = 0, k = 0;
  int64_t aRow = 0, aColumn = 0, bRow = 0, bColumn = 0, cRow = 0;
  bool accumulate = false;
};

/// Implemented outside the compiler (by the driver with the engine's library, or by a target description).
class WorkspaceOracle {
public:
  virtual ~WorkspaceOracle() = default;
  /// Bytes of scratch memory that the call needs, 0 for none.
  virtual uint64_t matmulBytes(const MatmulShape &shape) const = 0;
};

} // namespace npar::compiler
