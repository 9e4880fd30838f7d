// What a search found, as plan text, as a table and as JSON.
#pragma once

#include "tools/lib/planner/search/Search.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace npar::planner {

/// The best plan with a comment on each line why: what the best other value of the setting that was tried would take, all else alike. Ends
/// with the runners-up and what each would need to win. `command`: what shows the same figures. `remarks`: lines that stand above the plan.
std::string planText(const PlanTask &task, const SearchResult &result, const SearchOptions &options, const std::string &command,
                     const std::string &remarks = "");
nlohmann::ordered_json planJson(const PlanTask &task, const SearchResult &result, PlanGoal goal, const std::string &text);

} // namespace npar::planner
