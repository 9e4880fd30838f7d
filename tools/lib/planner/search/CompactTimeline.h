// The timeline of a simulated training step in so few words that a page holds those of all plans of a search.
#pragma once

#include "compiler/cost/Simulation.h"

#include <string>
#include <vector>

namespace npar::planner {

/// Into how many equal parts of the training step a lane is cut.
constexpr int laneColumns = 600;

/// A lane for each pipeline stage: what its ranks do for most of each part of the step. Runs of a phase's letter (show::Look), or of `-`
/// for waiting, are followed by their lengths, such as "F12-3B24". The lengths of a lane add up to `laneColumns`. If there are more stages
/// than `most`, that number is chosen evenly.
std::vector<std::string> compactTimeline(const program::Program &program, const cost::Simulation &simulation, size_t most = 32);

} // namespace npar::planner
