// The timeline of a simulated training step in so few words that a page holds those of all plans of a search.
#pragma once

#include "compiler/cost/Simulation.h"

#include <string>
#include <vector>

namespace npar::planner {

/// Into how many equal parts of the training step a lane is cut.
constexpr int laneColumns = 600;

/// Of each pipeline stage what its ranks do in each part of the step, most of it: runs of a phase's letter (view/Looks) or of `-`, waiting,
/// with their lengths, such as "F12-3B24". The lengths of a lane add up to `laneColumns`. Of more stages than `most` as many, evenly
/// chosen.
std::vector<std::string> lanesOf(const program::Program &program, const cost::Simulation &simulation, size_t most = 32);

} // namespace npar::planner
