// Kernels that add up what ranks have, in the order of the sources, as PTX.
#pragma once

#include "engine/program/Program_generated.h"

#include <string>

namespace npar::engine::cuda {

/// Sources and targets of one reduction, at most: a kernel's parameters have 4,096 bytes.
constexpr int mostReduced = 480;
constexpr int reduceThreads = 256;

/// "reduce_f32_sum". Its parameters: an array of `mostReduced` pointers, to the sources in their order and then to the targets; how many
/// sources and targets there are; elements. A thread for each element; the bits are those of backends/cpu/Reduce.cpp.
std::string reduceName(program::ElementType type, program::ReduceOp op);

/// A module with a kernel for each type and operation.
std::string reduceText();

} // namespace npar::engine::cuda
