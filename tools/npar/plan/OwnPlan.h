// The plan that a run of another program has itself, beside those that are searched for its model.
#pragma once

#include "tools/npar/model/ForeignFlags.h"
#include "tools/npar/plan/Search.h"
#include "tools/npar/plan/Task.h"

#include <nlohmann/json_fwd.hpp>

namespace npar::driver {

struct OwnPlan {
  ForeignFlags flags;
  foreign::ForeignModel model;
  Tried tried;                    ///< its text is the run's, its candidate as near to that as candidates come
  std::vector<std::string> alone; ///< what of it no candidate has, in words
  std::string barred;             ///< why it is not chosen whatever it takes; empty: it may be
  bool fills = false;             ///< it takes every device of the hosts
};

/// The run that `foreign` names, with batch and type as `flags` change them. Their hosts become what the run takes where they are not
/// given.
Outcome<foreign::ForeignModel> runFor(const ForeignFlags &run, TaskFlags &flags);

/// Simulates the run's own plan on the machine of the task. What refuses it is no error.
Outcome<OwnPlan> ownPlanOf(const ForeignFlags &flags, foreign::ForeignModel model, const PlanTask &task, const Choices &fixes,
                           const ParallelWork &work);

/// Chooses it where it is better than all that was found and the search did not know of it.
void consider(const OwnPlan &own, PlanGoal goal, SearchResult &result);

/// What was understood of the run, what its own plan takes, what the best found takes and where they differ.
std::string ownPlanText(const OwnPlan &own, const SearchResult &result, PlanGoal goal);
nlohmann::ordered_json ownPlanJson(const OwnPlan &own, const SearchResult &result, PlanGoal goal);

} // namespace npar::driver
