// Operands on which a library's kernels are tried at load.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::engine::cuda {

/// The bytes of numbers in (-1, 1), times a power of two, to be repeated.
std::vector<uint8_t> drawnNumbers(program::ElementType type, uint64_t seed, double times = 1);
double elementAt(const std::vector<uint8_t> &bytes, size_t i, program::ElementType type);

} // namespace npar::engine::cuda
