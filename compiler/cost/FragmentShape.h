// What a fragment's steps wait for and how long they take, the same in all of its tasks: what the simulation runs.
#pragma once

#include "compiler/cost/Activities.h"
#include "compiler/cost/Simulation.h"

namespace npar::cost {

/// What communicates has a length of its own; other steps have their fragment's.
struct Message {
  double seconds = 0, holds = 0;                 ///< holds: for so long the rank does not compute
  double beside = 0;                             ///< of a collective: the share that may pass beside its product
  int members = 1;                               ///< of a collective
  std::vector<LinkUse> links;                    ///< that it goes over
  std::vector<Activities::Share> sent, received; ///< of these, as resources of the rank itself: the simulation's
};

struct FragmentShape {
  std::vector<uint32_t> waits;                  ///< by step: how many of the fragment's steps it waits for
  std::vector<std::vector<uint32_t>> followers; ///< by step
  std::vector<uint32_t> chain;                  ///< those that wait for the task before
  std::vector<Message> messages;                ///< by step; of computing ones unused
  std::vector<double> seconds;                  ///< by step: of computing ones
  std::vector<char> reports;                    ///< by step: nothing that is kept for the next training step follows from it
};

/// Whether a step computes rather than communicates.
bool computes(const program::Step &step);

/// Of a fragment of the class. `ranks`: of the class's ranks one on each kind of host; what they communicate takes as long as with the
/// slowest of them.
FragmentShape shapeOf(const program::Program &program, const program::RankClass &rankClass, const program::Fragment &fragment,
                      const std::vector<int64_t> &ranks, const Topology &topology, const Deviations &deviations);

} // namespace npar::cost
