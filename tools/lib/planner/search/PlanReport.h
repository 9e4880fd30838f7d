// The result of a search as plan text, as a table and as JSON.
#pragma once

#include "engine/json/JsonForward.h"
#include "tools/lib/planner/search/Search.h"

#include <string>

namespace npar::planner {

/// The best plan. A comment on each line gives the reason: the figures with the best other value of that setting, if nothing else changes.
/// The runners-up follow, each with what it would need to win. `command`: prints the same figures. `remarks`: lines above the plan.
std::string planText(const PlanTask &task, const SearchResult &result, const SearchOptions &options, const std::string &command,
                     const std::string &remarks = "");
OrderedJson planJson(const PlanTask &task, const SearchResult &result, PlanGoal goal, const std::string &text);

} // namespace npar::planner
