// All plans that fill the hosts, as far as sizes and schedules say.
#pragma once

#include "tools/lib/planner/search/Candidate.h"

namespace npar::planner {

/// All candidates whose sizes divide what they split, with the likelier of what `variantsOf` changes. `fixes`: choices that each of them
/// has.
std::vector<Candidate> candidatesFor(const PlanTask &task, const Choices &fixes);

/// The same plan with another way of context parallelism, recomputation of every second block, another placement, other buckets or
/// another buffer for experts: one of these at a time.
std::vector<Candidate> variantsOf(const PlanTask &task, const Choices &fixes, const Candidate &candidate);

/// `candidate` with the choices that `variantsOf` changes as `other` has them, where they make sense for it.
Candidate likewise(const PlanTask &task, const Choices &fixes, Candidate candidate, const Candidate &other);

/// Buffers for rows of experts: none, then those of 2, 4, 8 and 16 rounds, rounded up so that there are no more. Only none where a model
/// sends no rows.
std::vector<double> buffersFor(const PlanTask &task, int64_t ep);

/// Tells whether the other order of dp and pp puts other ranks on a host, and hosts hold whole groups of cp and tp.
bool placesApart(const PlanTask &task, const Candidate &candidate);

/// Why no candidate keeps one of the choices, whatever the others are: "'mesh.tp = 3' ... it is one of 1, 2, 4"; empty where each is kept
/// by one.
std::string wrongFix(const PlanTask &task, const Choices &fixes);

} // namespace npar::planner
