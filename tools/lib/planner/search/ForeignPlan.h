// The own plan of a run of another program, which competes with those that are searched for its model.
#pragma once

#include "engine/json/JsonForward.h"
#include "tools/lib/foreign/ForeignModel.h"
#include "tools/lib/planner/search/ReadTask.h"
#include "tools/lib/planner/search/Search.h"

namespace npar::planner {

struct ForeignPlan {
  foreign::ForeignRequest request;
  foreign::ForeignModel model;
  Tried tried;                    ///< its text is the run's, its candidate as near to that as candidates come
  std::vector<std::string> alone; ///< what of it no candidate has, in words
  std::string barred;             ///< why it is not chosen whatever it takes; empty: it may be
  bool fills = false;             ///< it takes every device of the hosts
};

/// The run that `run` names, with batch and type as `request` changes them. Its hosts become those of the run if they are 0.
engine::Result<foreign::ForeignModel> runFor(const foreign::ForeignRequest &run, TaskRequest &request, engine::Observer &observer);

/// Simulates the run's own plan on the machine of the task. A plan that is refused is no error.
engine::Result<ForeignPlan> foreignPlanOf(const foreign::ForeignRequest &request, foreign::ForeignModel model, const PlanTask &task,
                                          const Choices &fixes, const ParallelWork &work);

/// Chooses it where it is better than all that was found and the search did not know of it.
void consider(const ForeignPlan &own, PlanGoal goal, SearchResult &result);

/// A report: the settings of the run that were understood, the figures of its own plan and of the best found, and their differences.
std::string foreignPlanText(const ForeignPlan &own, const SearchResult &result, PlanGoal goal);
OrderedJson foreignPlanJson(const ForeignPlan &own, const SearchResult &result, PlanGoal goal);

} // namespace npar::planner
