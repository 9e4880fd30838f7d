// The answer of a search that found no plan.
#pragma once

#include "tools/lib/planner/search/Search.h"

namespace npar::planner {

/// An error that says that nothing fits, and the smallest changes that were found to help.
engine::Status nothingFits(const PlanTask &task, const SearchResult &result, const SearchOptions &options);

} // namespace npar::planner
