// The bridge between two libraries that do not know each other: the program's entry, as the engine asks its library.
#include "tools/npar/model/LibraryWorkspace.h"

#include "engine/backends/cpu/MatmulWorkspace.h"

namespace npar::driver {

uint64_t LibraryWorkspace::matmulBytes(const program::MatmulT &matmul) const {
  engine::MatmulShape shape;
  shape.type = matmul.type, shape.result = matmul.result;
  shape.m = matmul.m, shape.n = matmul.n, shape.k = matmul.k;
  shape.aRow = matmul.a_row, shape.aColumn = matmul.a_column;
  shape.bRow = matmul.b_row, shape.bColumn = matmul.b_column;
  shape.cRow = matmul.c_row;
  shape.accumulate = matmul.accumulate;
  return engine::matmulWorkspace(shape);
}

} // namespace npar::driver
