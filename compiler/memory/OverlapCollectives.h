// Orders the steps of fragments so that a rank computes while its collectives run.
#pragma once

#include "compiler/memory/Allocate.h"

namespace npar::memory {

/// Puts work between a collective and the first step that uses its result: steps that need neither, taken from before the collective or
/// from after that first use, the nearest ones, until they take as long as the collective. A step hides one collective.
///
///   dispatch (wait) experts combine (wait) gate up down add
///   dispatch gate up experts combine down add
///
/// Only the order of actions within a fragment changes, and of a fragment that runs once per micro-batch. Messages and collectives keep
/// their order, which all classes share; so do the reads and writes of a variable that the fragment writes. No value changes.
///
/// Memory: the scratch bytes that are live at a time never exceed the most of any such fragment of the class before.
void overlapCollectives(ClassModel &model);

} // namespace npar::memory
