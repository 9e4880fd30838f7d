// A compiled program as text for people and for tests: everything that is in it but the kernels' code, in the order in which it is read.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <string>

namespace npar::program {

/// The whole program: its tables, then each class of ranks with what its ranks share. A step is a line: number, what is done, operands,
/// what it waits for; after the `#` its label, place in the text, planned times and the rest of what the step says.
std::string printProgram(const Program &program);

/// A rank's own program: the same of its class, with the rank's coordinates, its part of each variable and its peers' numbers filled in.
/// `rank` must be below the number of ranks.
std::string printRank(const Program &program, int64_t rank);

} // namespace npar::program
