// The answer of a search that found no plan.
#pragma once

#include "tools/npar/plan/Search.h"

namespace npar::driver {

/// Says that nothing fits, and the least change that was found to help.
ExitCode nothingFits(const PlanTask &task, const SearchResult &result, const SearchOptions &options, const std::string &folder);

} // namespace npar::driver
