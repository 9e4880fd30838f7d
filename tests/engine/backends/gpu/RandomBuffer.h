// Values that kernels should agree on: ordinary ones and every kind of float that is not.
#pragma once

#include "engine/backends/cuda/ptx/KernelText.h"

#include <random>

namespace npar::engine {

/// Fills `count` elements. An eighth of the floats are infinities, NaNs, zeros of both signs, denormals and random bits where `special`;
/// integers are below `entries`.
void fillBuffer(const cuda::KernelBuffer &buffer, uint8_t *bytes, std::mt19937_64 &random, int64_t entries, bool special);

/// Elements of two buffers that differ; two NaNs do not, for a GPU's have one pattern, a processor's come from the operands.
size_t countDifferences(const cuda::KernelBuffer &buffer, const uint8_t *left, const uint8_t *right);

} // namespace npar::engine
