// A text of one rank's program for people, read from the compiled program alone: usable without MLIR.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <string>

namespace npar {

/// A rank's own program as text: its coordinates, memory, fragments with peers' rank numbers filled in, tasks, communication order.
/// `rank` must be below the number of ranks.
std::string printRank(const program::Program &program, int64_t rank);

} // namespace npar
