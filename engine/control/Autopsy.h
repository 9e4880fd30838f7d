// Finds in the flight records of a job where its ranks diverged first, and describes it in two sentences.
#pragma once

#include "engine/control/FailureReport.h"
#include "engine/control/FlightReader.h"

#include <string>
#include <vector>

namespace npar::engine {

struct AutopsyReport {
  bool diverged = false;
  FailureReport failure;     ///< the culprit and the ranks that waited; when `diverged`
  std::string first, second; ///< the two sentences, without a final period
  std::string verdict;       ///< report of the processes themselves, as JSON; empty: none
  std::string toJson() const;
};

/// Examines the records of one job; some processes may have none. The rules are those of the job's judge (Judge.h). It blames, in this
/// order: a process without signs of life when the others still had some; a rank that went past an operation in which others wait; a rank
/// that others wait for and that itself waits for none.
AutopsyReport autopsy(const std::vector<FlightLog> &logs);

} // namespace npar::engine
