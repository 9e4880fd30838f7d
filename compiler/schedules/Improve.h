// Local improvement of a schedule for given costs.
#pragma once

#include "compiler/schedules/FillWeights.h"

namespace npar::schedules {

/// An order of forwards and backwards, and the rules by which W is put between them.
struct Candidate {
  Schedule order;
  std::vector<WeightRule> rules; ///< per stage
};

/// Tries `trials` changes one after the other and keeps those that do not raise the score of the schedule: another rule on some stages, or
/// a task some places earlier. No limit of a rule rises. The changes come from a fixed sequence of numbers: the same input gives the same
/// result.
Candidate improve(Candidate candidate, const std::vector<StageCost> &costs, double transfer, int trials);

} // namespace npar::schedules
