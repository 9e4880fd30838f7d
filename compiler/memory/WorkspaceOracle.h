// How much scratch memory a library call needs on the target machine: asked as memory is allocated, answered by the engine's side.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>

namespace npar::compiler {

/// Implemented outside the compiler (by the driver with the engine's library, or by a target description).
class WorkspaceOracle {
public:
  virtual ~WorkspaceOracle() = default;
  /// Bytes of scratch memory that one 2-D product of this entry needs, 0 for none.
  virtual uint64_t matmulBytes(const program::MatmulT &matmul) const = 0;
};

} // namespace npar::compiler
