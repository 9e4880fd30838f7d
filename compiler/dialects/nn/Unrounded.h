// The mark of operations that are left out of mixed precision, to measure what their rounding does.
#pragma once

namespace npar::nn {

/// prepare-precision does not round the results of operations with this attribute to the plan's 16-bit type.
constexpr const char *unroundedAttribute = "unrounded";

} // namespace npar::nn
