// Which steps a worker starts one right after the other, and what each such chain waits for.
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/runtime/StepGraph.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace npar::engine {

/// Chains have numbers from 0: first those with steps, then ends, which have none and stand for the moment that a completion tells of.
struct StepChains {
  uint32_t count = 0;             ///< with the ends
  std::vector<uint32_t> heads;    ///< of each chain with steps, the first one
  std::vector<uint32_t> next;     ///< by step: the one after it in its chain, or noIndex
  std::vector<uint32_t> together; ///< by step: so many from it on in its chain are one kernel, each on memory that no other one writes
  std::vector<uint32_t> releases; ///< by step: the chain that its completion ends, or noIndex where it is done when it was started
  std::vector<std::pair<uint32_t, uint32_t>> edges; ///< the second waits for the first
};

/// For a device whose work is done when the call returns: a step is in the chain of the one before it where it has no other predecessor and
/// that one no other successor. Communication goes on elsewhere and ends its chain.
StepChains workerChains(const StepGraph &graph);

/// What ends a piece of a lane, beside communication that waits for it.
enum class LaneCut : uint8_t {
  Communication, ///< nothing else
  Tasks,         ///< the end of each task, so that somebody hears of it
  Steps,         ///< each step, which then waits for the one before it to be done: their times can be told apart
};

/// For a device that goes on after the call: all steps of a rank but communication are a lane, in one order, which the device keeps, so
/// that none of them waits for the one before it to be done. A lane is cut where a step waits for communication, and where communication
/// waits for a step, for only these wait for completions.
///
/// The order is that of the program's steps and communication sorted together (EventGraph), so it adds no circle to those that the program
/// was proved not to have: a rank's communication has one order already, and a lane's steps stand in it where they stood in the sort. In a
/// piece, kernels of a task of which none waits for another stand next to those that are the same, as `together`: a device may do these at
/// once, such as the updates of all parameters of one size.
StepChains laneChains(const program::Program &program, const StepGraph &graph, LaneCut cut);

} // namespace npar::engine
