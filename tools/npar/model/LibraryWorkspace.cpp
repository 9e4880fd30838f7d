// The bridge between two libraries that do not know each other: the same shape in the compiler's and in the engine's type.
#include "tools/npar/model/LibraryWorkspace.h"

#include "engine/backends/cpu/MatmulWorkspace.h"

namespace npar::driver {

uint64_t LibraryWorkspace::matmulBytes(const compiler::MatmulShape &shape) const {
  engine::MatmulShape asked;
  asked.type = shape.type, asked.result = shape.result;
  asked.m = shape.m, asked.n = shape.n, asked.k = shape.k;
  asked.aRow = shape.aRow, asked.aColumn = shape.aColumn;
  asked.bRow = shape.bRow, asked.bColumn = shape.bColumn;
  asked.cRow = shape.cRow;
  asked.accumulate = shape.accumulate;
  return engine::matmulWorkspace(asked);
}

} // namespace npar::driver
