// One rank's own program as text: coordinates and peers filled in, readable by a person (`--emit=rank --rank N`).
#pragma once

#include "engine/program/Program_generated.h"

#include <ostream>

namespace npar::driver {

/// `rank` must be below the world's size.
void printRank(const program::Program &program, int64_t rank, std::ostream &out);

} // namespace npar::driver
