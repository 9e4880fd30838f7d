// Dependencies and durations of a fragment's steps, which are the same in all of its tasks. The simulation runs on them.
#pragma once

#include "compiler/cost/Activities.h"
#include "compiler/cost/Simulation.h"

namespace npar::cost {

/// The duration of a step that communicates. Compute steps take their times from the fragment.
struct Message {
  double seconds = 0, holds = 0;                 ///< holds: seconds during which the rank does not compute
  double beside = 0;                             ///< collectives: share that can overlap with the product next to it
  int members = 1;                               ///< collectives: size of the group
  std::vector<LinkUse> links;                    ///< the links that it uses
  std::vector<Activities::Share> sent, received; ///< loads on the rank's own links, as resources of the simulation
};

struct FragmentShape {
  std::vector<uint32_t> waits;                  ///< by step: how many of the fragment's steps it waits for
  std::vector<std::vector<uint32_t>> followers; ///< by step
  std::vector<uint32_t> chain;                  ///< those that wait for the task before
  std::vector<Message> messages;                ///< by step; unused for computing ones
  std::vector<double> seconds;                  ///< by step; set for computing ones
  std::vector<std::pair<program::Tier, program::Tier>> tiers; ///< by step: what a copy reads and writes, as Tiers.h says
  std::vector<char> reports;                    ///< by step: whether nothing kept for the next training step depends on it
};

/// The part of a step's routed rows that exist if the load of experts is balanced; 1 for steps without such rows.
double filledPart(const program::Program &program, const program::Step &step);

/// Returns whether a step computes; otherwise it communicates.
bool computes(const program::Step &step);

/// Builds the shape of a fragment of the class. `ranks` holds one of the class's ranks for each kind of host; each message takes as long as
/// it does for the slowest of them.
FragmentShape shapeOf(const program::Program &program, const program::RankClass &rankClass, const program::Fragment &fragment,
                      const std::vector<int64_t> &ranks, const Topology &topology, const Deviations &deviations);

} // namespace npar::cost
