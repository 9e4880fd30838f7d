// The number by which processes tell compiled programs apart.
#pragma once

#include "engine/program/Loader.h"

namespace npar::program {

/// The first half of the hash over every byte of the program, which its header holds.
uint64_t hashOf(const LoadedProgram &program);

} // namespace npar::program
