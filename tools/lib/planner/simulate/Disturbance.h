// Ranks and links that are slower than the machine's figures.
#pragma once

#include "compiler/cost/Simulation.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::planner {

/// Descriptions of slow ranks and links, each with its factor from 1 to a million.
struct SlowParts {
  std::vector<std::string> ranks; ///< "rank=3:1.5", "host=0-1:1.2", "pp=2:1.1"
  std::vector<std::string> links; ///< "cluster:2"
  bool given() const { return !ranks.empty() || !links.empty(); }
};

/// Tells whether a text has the form of one of `SlowParts::ranks` or `links`.
bool namesSlowRanks(const std::string &text);
bool namesSlowLinks(const std::string &text);

/// Number of ranks of a class that compute `times` as long.
struct SlowRanks {
  double times = 1;
  int64_t ranks = 0;
};

struct Disturbance {
  cost::Deviations deviations;               ///< a class computes as long as the slowest of its ranks
  std::vector<std::vector<SlowRanks>> ranks; ///< by class: all of its ranks, those of one speed together
};

/// What the flags say of a program's ranks on a machine, besides `deviations` without slow ones. `places`: the ranks of each host. Errors
/// are printed: ranks, hosts and coordinates that are not there, levels of links that the machine lacks.
engine::Result<Disturbance> disturbanceOf(const SlowParts &slow, const program::Program &program, const cost::Machine &machine,
                                          const std::vector<std::vector<int64_t>> &places, const cost::Deviations &deviations);

} // namespace npar::planner
