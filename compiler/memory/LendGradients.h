// A single micro-batch writes each gradient once, during the backward: until then its memory can hold values that the forward keeps.
#pragma once

#include "compiler/memory/AllocateFragment.h"

namespace npar::memory {

/// Moves kept values (of the stashes) into the memory of accumulators that are written after the values' last use, puts the accumulators in
/// the order in which they are written, and closes the gaps that are left. Every fragment of `rankClass` runs once, and its operands, the
/// dependencies that follow from them, `pieces` and the sizes of the stashes in `shared` are made to fit. Values that messages or free
/// collectives touch stay where they are.
void lendGradients(const ClassModel &model, SharedStorage &shared, program::RankClassT &rankClass);

} // namespace npar::memory
