// So many hosts of a machine for the ranks of a program.
#pragma once

#include "dsl/machine/Machine.h"
#include "engine/program/HostPlacement.h"
#include "engine/status/Status.h"

#include <vector>

namespace npar::planner {

/// So many hosts of the machine, filled one after the other; 0: as many as the ranks take. Another number is BadInput.
engine::Result<std::vector<program::HostRoom>> roomsFor(const dsl::Machine &machine, int64_t ranks, int64_t hosts);

} // namespace npar::planner
