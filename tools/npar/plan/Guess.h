// Cheap figures of candidates before any is compiled: bounds that leave some out, guesses that say which to compile first.
#pragma once

#include "compiler/cost/CostModel.h"
#include "tools/npar/plan/Candidate.h"

namespace npar::driver {

/// Seconds that no plan of these sizes stays below: the products of the blocks at the machine's best rate, and what a pipeline waits for.
double leastSeconds(const PlanTask &task, const Candidate &candidate);
/// Seconds with a guess of the communication along tp, cp and dp, and of what the schedule waits for.
double guessedSeconds(const PlanTask &task, const Candidate &candidate);
/// Bytes that the largest rank needs at least for parameters, gradients and optimizer.
double leastBytes(const PlanTask &task, const Candidate &candidate);
/// Bytes of activations that a rank keeps, up to a factor (Korthikanti et al. 2022, table 2, without attention's probabilities).
double guessedActivations(const PlanTask &task, const Candidate &candidate);

} // namespace npar::driver
