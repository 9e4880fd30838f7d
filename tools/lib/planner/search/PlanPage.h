// The page of a search: one HTML file that needs nothing else.
#pragma once

#include "tools/lib/planner/search/Search.h"

#include <string>

namespace npar::planner {

/// Time against memory of all that was simulated, with the text and the figures of each. The template is engine/show/page/search.html.
std::string planPage(const PlanTask &task, const SearchResult &result);

} // namespace npar::planner
