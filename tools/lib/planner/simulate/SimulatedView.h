// The inspector's view of a program at simulated times: what pictures, pages and traces of `npar simulate` are made of.
#pragma once

#include "tools/lib/planner/simulate/Prediction.h"
#include "tools/npar/view/View.h"

namespace npar::planner {

using driver::View;

/// Tasks end where the simulation has them, and begin after what a rank waits for others in them. Steps inside a task stand where the plan
/// has them, stretched to the task's simulated length (of the tasks of a fragment the shortest); messages and collectives that pass beside
/// the tasks are as long as the plan says. `deviations`: those of the simulation. `remark` comes after the title.
View simulatedView(const program::Program &program, const cost::Simulation &simulation, const cost::Deviations &deviations,
                   const std::string &remark);

} // namespace npar::planner
