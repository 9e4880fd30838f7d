// Properties of steps: whether they run per micro-batch or per training step, and in the compute chain or outside of it.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>

namespace npar::program {

/// True if fragments of the phase run once per micro-batch, not once per training step.
bool runsPerMicro(Phase phase);

/// True if fragments of the phase are pipeline work: any other time between the first and the last of them is bubble.
bool isWork(Phase phase);

/// True if only its own dependencies order a step, outside of the compute chain: Send, Receive and free collectives.
inline bool isAsync(const Step &step) { return step.kind() == StepKind::Send || step.kind() == StepKind::Receive || step.free(); }

/// Number of collectives in a Collective step: more than one for a bucket.
inline uint32_t partsOf(const Step &step) { return step.outputs(); }

} // namespace npar::program
