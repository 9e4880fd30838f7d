// When steps run: once per micro-batch or per training step, in the compute chain or outside of it.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>

namespace npar::program {

/// Whether fragments of the phase run once per micro-batch, not once per training step.
bool runsPerMicro(Phase phase);

/// Whether fragments of the phase are what a pipeline is there for: the rest of the time between the first and the last of them is bubble.
bool isWork(Phase phase);

/// Whether a step orders itself by its dependencies alone, outside of the compute chain: Send, Receive, and collectives that are free.
inline bool isAsync(const Step &step) { return step.kind() == StepKind::Send || step.kind() == StepKind::Receive || step.free(); }

/// How many collectives a Collective step is: more than one for a bucket.
inline uint32_t partsOf(const Step &step) { return step.inputs(); }

} // namespace npar::program
