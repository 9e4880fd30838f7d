// Why a collective is there, in the one wording that all prints of it share.
#pragma once

#include "engine/program/Program_generated.h"

#include <string>

namespace npar::program {

/// `'einsum' sums over 'hidden', split by rule 'hidden -> tp'`; empty when nothing is known. Where a kind speaks of a variable and none is
/// named, it is about several: `each of these`.
std::string describe(const CauseT &cause);

} // namespace npar::program
