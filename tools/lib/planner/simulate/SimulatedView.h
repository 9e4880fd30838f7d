// The inspector's view of a program at simulated times: what pictures, pages and traces of `npar simulate` are made of.
#pragma once

#include "engine/show/View.h"
#include "tools/lib/planner/simulate/Prediction.h"

namespace npar::planner {

/// Tasks end at their simulated ends, and begin after the waits for others in them. Steps inside a task keep their planned places,
/// stretched to the task's simulated length (the shortest over the tasks of a fragment); messages and collectives that run at the same time
/// as tasks are as long as planned. `deviations`: as in the simulation. `remark` comes after the title.
show::View simulatedView(const program::Program &program, const cost::Simulation &simulation, const cost::Deviations &deviations,
                         const std::string &remark);

} // namespace npar::planner
