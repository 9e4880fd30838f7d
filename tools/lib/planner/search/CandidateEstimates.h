// Cheap figures of candidates before any is compiled: bounds that exclude some, and guesses by which the rest is ordered.
#pragma once

#include "compiler/cost/CostModel.h"
#include "tools/lib/planner/search/Candidate.h"

namespace npar::planner {

/// Seconds that no plan of these sizes stays below: the products of the blocks at the machine's best rate, and what a pipeline waits for.
/// Assumes on an uneven machine that a stage has the pace of its slowest rank, and blocks in proportion to that. Leaves waits out there,
/// because stages that take unequal times may wait less.
double leastSeconds(const PlanTask &task, const Candidate &candidate);
/// Seconds with a guess of the communication along tp, cp and dp, and of what the schedule waits for.
double guessedSeconds(const PlanTask &task, const Candidate &candidate);
/// Bytes of a device that a program may have: on an uneven machine the mean over the stages, of each its smallest, which what stages hold
/// cannot be above on average.
double roomFor(const PlanTask &task, const Candidate &candidate);
/// Bytes that the largest rank, on an uneven machine the mean one, needs at least for parameters, gradients and optimizer.
double leastBytes(const PlanTask &task, const Candidate &candidate);
/// Bytes of activations that a rank keeps, up to a factor (Korthikanti et al. 2022, table 2, without attention's probabilities).
double guessedActivations(const PlanTask &task, const Candidate &candidate);

} // namespace npar::planner
