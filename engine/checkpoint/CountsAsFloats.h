// Stored counts as floats: other programs keep the number of steps behind a running statistic in I64.
#pragma once

#include "engine/checkpoint/TensorStore.h"

#include <set>

namespace npar::engine {

/// The same tensors; those of these names, which are I64, read as F64. Beyond 2^53 they are rounded.
std::shared_ptr<const TensorStore> countsAsFloats(std::shared_ptr<const TensorStore> store, const std::set<std::string> &names);

} // namespace npar::engine
