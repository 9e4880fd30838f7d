// A training step of a compiled program in simulated time: its own steps, messages and collectives on a machine.
//
//   compute     each rank runs one step at a time: the first in the program's order that waits for nothing
//   messages    overlap with compute: a message begins when both sides are ready, a collective when all of its members are
//   links       all that a rank sends over a level at the same time shares that level's bandwidth; so does all that it receives
//   tiers       copies between a rank's tiers of memory overlap with compute, too; those between the same two in the same direction share a
//               link
//   processors  the ranks of a host share its cores: if their steps demand more in total, all slow down in the same proportion
//
// All ranks of a class do the same, so the simulation follows one rank per class: time and memory grow with classes x tasks x steps, not
// with ranks. If the ranks of a class are on several kinds of hosts, the one followed is as slow as the slowest: the planned times of its
// steps account for that, and each message takes the time of the kind of host on which it takes longest.
#pragma once

#include "compiler/cost/Timeline.h"
#include "compiler/cost/Topology.h"
#include "engine/program/Program_generated.h"
#include "engine/status/Status.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace npar::cost {

/// The time of one rank of a class by activity. The parts add up to the seconds of the training step.
struct ClassTime {
  std::array<double, static_cast<size_t>(program::StepKind::MAX) + 1> work{}; ///< computing, by kind of step
  double computing = 0;                                                       ///< all of it
  double exposed = 0;                                                         ///< communicates and does not compute
  double idle = 0;                                                            ///< neither: waits for others
  double reducing = 0;        ///< takes part in sums between ranks (all_reduce, reduce_scatter), computing or not
  double reducingExposed = 0; ///< of that, does not compute
};

/// One kind of step on the critical path, the chain of steps that determines the length of the training step.
struct CriticalPart {
  std::string what; ///< a kind of step, "all_reduce over tp", "send over pp"
  double seconds = 0;
  uint64_t steps = 0;
};

struct Simulation {
  double seconds = 0; ///< a training step, from the first begin to the last end
  /// Seconds from one training step to the next when they follow each other. A rank begins the next one as soon as its state is up to date,
  /// so ranks that begin late can end late (Qi et al. 2023, "Zero Bubble Pipeline Parallelism", section 4: the longest time that a rank
  /// takes from its first forward). At most `seconds`.
  double period = 0;
  std::vector<ClassTime> classes;       ///< in the order of the program's classes
  std::vector<std::vector<Span>> tasks; ///< [class][task]: of its computing steps and collectives
  std::vector<CriticalPart> critical;   ///< the longest first; they add up to `seconds`
};

/// Measured seconds of the tasks of a pipeline's stage, which replace those of their steps. A task begins when it has received everything,
/// and sends when it has ended. The chunks of a stage share the time. If a schedule does not separate the weight gradients, a backward
/// takes both times. Work before the first micro-batch and after the last takes no time.
struct TaskTimes {
  double forward = 0, backward = 0, weight = 0, message = 0;
};

/// Deviations from the times that the machine's figures predict.
struct Deviations {
  /// Factor per class on the time of its compute steps; empty: 1.
  std::vector<double> computing;
  /// Factor per level on the time of its messages; empty: 1.
  std::vector<double> messages;
  /// The update does not wait until all ranks know the gradients' norm; if the norm turns out not to be finite, the update is undone (Qi et
  /// al. 2023, "Zero Bubble Pipeline Parallelism", section 4). Compiled programs do not work this way.
  bool postValidated = false;
  /// Gathers of updated parameters overlap with the first forward of the next training step. Compiled programs do not work this way.
  bool gathersPassOn = false;
  /// A separate pass over memory adds each micro-batch's gradients to their sum, as in PyTorch's autograd, and in Megatron-LM without
  /// gradient accumulation fusion. In compiled programs the product that computes the gradients adds them.
  bool sumsApart = false;
  std::optional<TaskTimes> taskTimes;
  /// Every rank gets all rows of experts that it has room for, instead of its share.
  bool worstLoad = false;
  /// The parts of rows sent by all_to_all that really go to other ranks, and to other hosts: other programs send a position once to each
  /// rank that has some of its experts, and once to each host. Compiled programs send a row for each choice.
  double sentToRanks = 1, sentToHosts = 1;
};

/// Returns whether the times of a program depend on the load of experts.
bool hasLoad(const program::Program &program);

/// The program must have passed its checks, and been compiled for the machine: the times of its computing steps are taken from it.
engine::Result<Simulation> simulateStep(const program::Program &program, const Machine &machine, const Topology &topology,
                                        const Deviations &deviations = {});

} // namespace npar::cost
