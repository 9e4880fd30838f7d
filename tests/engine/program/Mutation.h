// Damages the communication of a program in one place at random, to score the deadlock check.
#pragma once

#include "tests/engine/program/Pipelines.h"

#include <random>
#include <string>

namespace npar::program {

/// Gives a task a fragment of its own, so that one micro-batch can be damaged alone. Returns its index.
uint32_t isolateTask(RankClassT &rankClass, uint32_t task);

/// Removes a step from a fragment, for all tasks that run it: its dependents then depend on its dependencies.
void removeStep(RankClassT &rankClass, uint32_t fragment, uint32_t step);

/// Duplicates a step, with the second one waiting for the first, for all tasks that run the fragment.
void duplicateStep(RankClassT &rankClass, uint32_t fragment, uint32_t step);

/// Gives a communication step a payload of its own with another event.
void retagStep(ProgramT &program, Step &step, uint32_t event);

/// The place of a step in the communication order of its class.
size_t placeOf(const RankClassT &rankClass, const CommunicationRef &step);

/// Moves a step in the communication order of its class to just before another one.
void moveBefore(RankClassT &rankClass, const CommunicationRef &step, const CommunicationRef &before);

/// Drops, duplicates, swaps or retags one communication step (in one task, or in all tasks of its fragment) and returns a description. The
/// program must have communication; it stays well formed.
std::string mutate(ProgramT &program, std::mt19937 &chance);

/// Counts the outcomes of mutants. A mutant is harmless if the simulation of all its ranks ends.
struct Score {
  uint32_t mutants = 0, hang = 0, caught = 0, harmless = 0, refused = 0;
  uint32_t wrongCycle = 0;         ///< events complete, but "no deadlock" and the simulation disagree
  std::vector<std::string> missed; ///< descriptions of mutants that can hang and were not refused, or were judged wrongly
  void add(const Program &program, const std::string &what, std::mt19937 &chance);
  /// `mutants 100: hang 80 caught 80, harmless 20 refused 5`
  std::string text() const;
};

} // namespace npar::program
