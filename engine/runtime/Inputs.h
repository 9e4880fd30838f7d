// Cuts a global batch into the rows that each rank reads in each micro-batch.
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/program/Status.h"

#include <cstdint>
#include <vector>

namespace npar::engine {

class Inputs {
public:
  /// Refuses inputs other than whole rows of "tokens" and "targets".
  static Result<Inputs> create(const program::Program &program, const std::vector<uint8_t *> &arenas);

  /// Micro-batch m is the rows [m D micro, (m+1) D micro) of the batch, split contiguously over D data-parallel ranks (P10).
  Status fill(const std::vector<int32_t> &tokens, const std::vector<int32_t> &targets) const;

private:
  struct Place {
    bool targets;
    uint64_t firstRow, count; ///< in the global batch; elements
    uint8_t *memory;
  };
  std::vector<Place> places;
  uint64_t rows = 0, columns = 0;
};

} // namespace npar::engine
