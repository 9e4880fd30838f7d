// Keeps a search to plans that another program has words for, and writes the best for it (`npar plan --as`).
#pragma once

#include "tools/lib/foreign/AsRun.h"
#include "tools/lib/planner/search/ForeignPlan.h"

namespace npar::planner {

/// Types that the task leaves open become those that the program `task.as` has.
void adoptTypes(PlanTask &task);

/// Whether `task.as` has words for the settings of a candidate; true without a program.
bool hasWordsFor(const PlanTask &task, const Candidate &candidate);

/// An error if `task.as` cannot express the model, the types or the training, because that excludes every plan.
engine::Status checkWords(const PlanTask &task, const Choices &fixes);

/// Bars the run's own plan where `task.as` cannot have it.
void barByWords(const PlanTask &task, ForeignPlan &own);

/// The chosen plan in the format of `task.as`; `observer` gets warnings about clauses that it follows differently. `own`: null without a
/// run. `output`: the file that has the plan's text, which messages name; empty: there is none.
engine::Result<std::string> bestAs(const PlanTask &task, const Tried &best, const ForeignPlan *own, const std::string &output,
                                   engine::Observer &observer);

} // namespace npar::planner
