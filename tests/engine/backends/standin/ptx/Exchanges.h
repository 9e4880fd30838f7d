// Instructions that the lanes of a warp execute together.
#pragma once

#include "tests/engine/backends/standin/ptx/Operations.h"

namespace npar::standin::ptx {

/// shfl.sync, vote.sync, bar.warp.sync, by opcode. The last source is the mask. A second target of shfl, a predicate, may be missing.
const Operations &exchangeOperations();

} // namespace npar::standin::ptx
