// Finds the operations that choose by the values of floats: two programs may choose differently when these are nearly equal.
#pragma once

#include "dsl/Program.h"

#include <string>

namespace npar::driver {

/// The first operations that make integers of floats (comparisons, largest entries, orders): "the choice at moe.npar:12:17". Empty where
/// there are none.
std::string choicesOf(const dsl::Model &model, const dsl::Sources &sources);

} // namespace npar::driver
