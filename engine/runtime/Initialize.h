// First values of parameters: a function of seed, name and logical index alone, hence the same under any plan (RULES.md#N1).
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <string>

namespace npar::engine {

/// Elements [begin, begin + count) of the logical tensor. Normal: Box-Muller in double over Philox keyed by the seed, with XXH64 of the
/// name and (index / 2) as counter; even indices take the cosine, odd ones the sine. Uniform: from -bound to below bound, with the same
/// counter; even indices take the first half of the bits, odd ones the second.
void initialValues(const program::Variable &variable, uint64_t seed, uint64_t begin, uint64_t count, float *values);
void initialValues(const program::Variable &variable, uint64_t seed, uint64_t begin, uint64_t count, double *values);

} // namespace npar::engine
