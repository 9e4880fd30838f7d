// A training step of a compiled program in simulated time: its own steps, messages and collectives on a machine.
//
//   compute     one step of a rank after the other: of those that wait for nothing any more the first in the program's order
//   messages    beside them: a message begins where both sides are ready, a collective where all of its members are
//   links       what a rank sends over a level at the same time shares that level's bandwidth; likewise what it receives
//   processors  the ranks of a host share its cores: steps that want more together run slower, all in the same proportion
//
// All ranks of a class do the same, so that one of each is followed: time and memory grow with classes x tasks x steps, not with ranks.
// Where they stand on several kinds of hosts, that one is as slow as the slowest of them: its steps' times were planned so, its messages
// are those of the kind on which they take longest.
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

/// What time goes to, of one rank of a class. They add up to the training step's seconds.
struct ClassTime {
  std::array<double, static_cast<size_t>(program::StepKind::MAX) + 1> work{}; ///< computing, by kind of step
  double computing = 0;                                                       ///< all of it
  double exposed = 0;                                                         ///< communicates and does not compute
  double idle = 0;                                                            ///< neither: waits for others
};

/// A part of the chain of steps that the training step's length follows from.
struct CriticalPart {
  std::string what; ///< a kind of step, "all_reduce over tp", "send over pp"
  double seconds = 0;
  uint64_t steps = 0;
};

struct Simulation {
  double seconds = 0; ///< of a training step, from its first to its last
  /// From one training step to the next where they follow each other: a rank begins the next one when what it keeps is up to date, so that
  /// those which begin late may end late (Qi et al. 2023, "Zero Bubble Pipeline Parallelism", section 4: the longest that a rank takes from
  /// its first forward on). At most `seconds`.
  double period = 0;
  std::vector<ClassTime> classes;       ///< as the program's
  std::vector<std::vector<Span>> tasks; ///< [class][task]: of its computing steps and collectives
  std::vector<CriticalPart> critical;   ///< the longest first; they add up to `seconds`
};

/// Seconds that tasks of a pipeline's stage were measured to take, whatever is in them: a task begins when all that it receives is there
/// and sends when it has ended. Chunks share them; where a schedule does not part the weights' gradients, a backward takes both. What comes
/// before the first micro-batch and after the last takes no time.
struct TaskTimes {
  double forward = 0, backward = 0, weight = 0, message = 0;
};

/// How steps take other times than the machine's figures say.
struct Deviations {
  /// By class: its computing takes so many times as long. Empty: 1.
  std::vector<double> computing;
  /// By level: its messages take so many times as long. Empty: 1.
  std::vector<double> messages;
  /// The update does not wait until all ranks know the gradients' norm: it is undone afterwards where that is not finite (Qi et al. 2023,
  /// "Zero Bubble Pipeline Parallelism", section 4). Not what a compiled program does.
  bool postValidated = false;
  /// Gathers of updated parameters pass beside the next training step's first forward. Not what a compiled program does.
  bool gathersPassOn = false;
  /// Each micro-batch's gradients are added to their sum by a pass of its own over memory, as PyTorch's autograd does it and Megatron-LM
  /// without its gradient accumulation fusion, not by the product that makes them. Not what a compiled program does.
  bool sumsApart = false;
  std::optional<TaskTimes> taskTimes;
};

/// The program must have passed its checks, and been compiled for the machine: the times of its computing steps are taken from it.
engine::Result<Simulation> simulateStep(const program::Program &program, const Machine &machine, const Topology &topology,
                                        const Deviations &deviations = {});

} // namespace npar::cost
