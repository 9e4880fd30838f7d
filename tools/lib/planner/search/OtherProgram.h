// Keeps a search to plans that another program has words for, and writes the best for it (`npar plan --as`).
#pragma once

#include "tools/lib/foreign/AsRun.h"
#include "tools/lib/planner/search/OwnPlan.h"

namespace npar::planner {

/// Types that the task leaves open become those that the program `task.as` has.
void adoptTypes(PlanTask &task);

/// Whether `task.as` has words for the settings of a candidate; true without a program.
bool hasWordsFor(const PlanTask &task, const Candidate &candidate);

/// What of model, types and training `task.as` cannot do is an error: it stands in the way of every plan. `folder`: for the text of one.
engine::Status checkWords(const PlanTask &task, const Choices &fixes, const std::string &folder);

/// Bars the run's own plan where `task.as` cannot have it.
void barByWords(const PlanTask &task, OwnPlan &own);

/// The chosen plan, whose text is at `path`, as `task.as` takes it; what that does in another way is said on standard error. `own`: null
/// without a run.
engine::Result<std::string> bestAs(const PlanTask &task, const Tried &best, const OwnPlan *own, const std::string &path,
                                   engine::Observer &observer);

} // namespace npar::planner
