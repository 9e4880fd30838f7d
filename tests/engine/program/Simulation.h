// Runs a compiled program on all its ranks by brute force, without arithmetic: the judge of the deadlock check, with which it shares no
// code.
#pragma once

#include "engine/program/Program_generated.h"

#include <random>
#include <string>
#include <vector>

namespace npar::program {

enum class Fate {
  Ends,
  Hangs,
  Disagrees ///< members of one event differ in what they do: it aborts, corrupts or hangs, as the transport likes
};

struct Simulated {
  Fate fate = Fate::Ends;
  std::string why;                                      ///< the first steps that never end, or who disagrees
  std::vector<std::vector<CommunicationRef>> completed; ///< by rank: communication in the order in which it completed
};

/// A step can start once its dependencies, the compute chain before it (without the task that its own overlaps) and (`inOrder`) all earlier
/// communication of its rank have completed; what does not communicate completes at once, communication when all members of its event have
/// started it (rendezvous: nothing is buffered). Events meet as in the engine: by number, micro-batch and ranks. Steps start in an order
/// drawn from `chance`. No step that could start ever loses that by another one's completion, so every order, with one worker or many,
/// leaves the same steps behind: one run decides for all. The program must pass `checkStructure`.
Simulated simulate(const Program &program, std::mt19937 &chance, bool inOrder = true);

} // namespace npar::program
