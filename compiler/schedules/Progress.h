// Runs a schedule without times to find the cycles in which stages wait for each other.
#pragma once

#include "compiler/schedules/Needs.h"

namespace npar::schedules {

/// The task at which a stage stops, and what it needs.
struct Wait {
  int stage = 0, place = 0;
  Need need;
};

/// Waits in a cycle: each is for a task of the next one's stage, the last for one of the first's. It begins at the lowest stage.
using Cycle = std::vector<Wait>;

/// Every cycle once, in ascending order of their first stages; empty when all tasks run. The schedule must have passed S0 and S1 of
/// `validate`, so that what a task needs is somewhere.
std::vector<Cycle> findCycles(const Schedule &schedule);

} // namespace npar::schedules
