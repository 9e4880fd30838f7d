// Stored counts as floats, and back: other programs keep the number of steps behind a running statistic in I64.
#pragma once

#include "engine/checkpoint/TensorStore.h"

#include <set>

namespace npar::engine {

/// True for whole numbers up to 2^53, which a float64 holds without a gap.
bool isCount(double value);

/// Writes whole numbers as I64, little-endian. Returns false if a value is no count.
bool writeCounts(const double *values, uint64_t count, uint8_t *bytes);

/// Returns a store with the same tensors, in which the I64 tensors called `names` read as F64. Counts above 2^53 are rounded.
std::shared_ptr<const TensorStore> countsAsFloats(std::shared_ptr<const TensorStore> store, const std::set<std::string> &names);

} // namespace npar::engine
