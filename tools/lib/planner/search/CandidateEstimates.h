// Bounds and estimates of candidates before any is compiled: bounds exclude some, and estimates order the rest.
#pragma once

#include "compiler/cost/StepEstimate.h"
#include "tools/lib/planner/search/Candidate.h"

namespace npar::planner {

/// The cost model's estimate for a candidate. The task must outlive it.
cost::StepEstimate estimateOf(const PlanTask &task, const Candidate &candidate);

} // namespace npar::planner
