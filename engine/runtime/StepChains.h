// Divides the step graph into chains of steps that a worker starts in sequence, with the waits between chains.
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/runtime/StepGraph.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace npar::engine {

/// Chains have numbers from 0. Chains with steps come first; then the ends, which have no steps and represent the moment of a completion.
struct StepChains {
  uint32_t count = 0;             ///< chains, including the ends
  std::vector<uint32_t> heads;    ///< first step of each chain that has steps
  std::vector<uint32_t> next;     ///< by step: the next one in its chain, or noIndex
  std::vector<uint32_t> together; ///< by step: number of steps in the chain, from this one on, that run the same kernel, each writing
                                  ///< memory that no other uses
  std::vector<uint32_t> releases; ///< by step: the chain that its completion ends, or noIndex if the step is done when the start call
                                  ///< returns
  std::vector<std::pair<uint32_t, uint32_t>> edges; ///< the second waits for the first
};

/// Chains for a device whose work is done when the call returns. A step continues the chain of the one before it if each has no other
/// predecessor or successor. Communication ends its chain, because it is asynchronous.
StepChains workerChains(const StepGraph &graph);

/// The places that end a piece of a lane, in addition to communication that waits for it.
enum class LaneCut : uint8_t {
  Communication, ///< none
  Tasks,         ///< the end of each task, so that its completion is reported
  Steps,         ///< each step, which then waits for completion of the one before it: their times can be measured separately
};

/// Chains for an asynchronous device. All steps of a rank except communication form a lane in one order, which the device keeps, so no step
/// of a lane waits for completion of the one before it. Only communication needs completions, so a lane is cut where a step waits for
/// communication, and where communication waits for a step.
///
/// The order is that of the program's steps and communication sorted together (EventGraph). It adds no cycle: the program was proved to
/// have none, a rank's communication already has one order, and the steps of a lane keep the order of the sort. Within a piece, independent
/// steps of a task with the same kernel are moved next to each other and marked `together`: a device may run these at once, for example the
/// updates of all parameters of one size.
StepChains laneChains(const program::Program &program, const StepGraph &graph, LaneCut cut);

} // namespace npar::engine
