// Stored counts as floats: other programs keep the number of steps behind a running statistic in I64.
#pragma once

#include "engine/checkpoint/TensorStore.h"

#include <set>

namespace npar::engine {

/// Returns a store with the same tensors, in which the I64 tensors called `names` read as F64. Counts above 2^53 are rounded.
std::shared_ptr<const TensorStore> countsAsFloats(std::shared_ptr<const TensorStore> store, const std::set<std::string> &names);

} // namespace npar::engine
