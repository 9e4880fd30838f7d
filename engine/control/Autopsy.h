// Finds in the flight records of a job where its ranks went apart first, and says it in two sentences.
#pragma once

#include "engine/control/FailureReport.h"
#include "engine/control/FlightReader.h"

#include <string>
#include <vector>

namespace npar::engine {

struct AutopsyReport {
  bool diverged = false;
  FailureReport failure;     ///< whom the records blame, and who waited; when `diverged`
  std::string first, second; ///< the two sentences, without a final period
  std::string verdict;       ///< what the processes themselves said, as JSON; empty: nothing
  std::string toJson() const;
};

/// The records of one job; of some processes they may be missing. The same rules as those of the job's judge (Judge.h): whoever left no
/// sign of life when the others still did; who went past an operation that others wait in; who is waited for and waits for nobody.
AutopsyReport autopsy(const std::vector<FlightLog> &logs);

} // namespace npar::engine
