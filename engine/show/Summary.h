// Counts the work of a compiled program per rank and training step. It reads only the root, so that the answer is immediate for any size.
#pragma once

#include "engine/json/JsonForward.h"
#include "engine/program/Program_generated.h"
#include "engine/show/StepVolume.h"
#include "engine/show/TierUse.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace npar::show {

struct CollectiveSummary {
  std::string kind; ///< the word: "all_reduce"
  std::string over; ///< mesh axes, major to minor: "tp", "pp,tp"
  uint64_t count = 0;
  uint64_t bytes = 0; ///< of the rank's input, at a balanced load of experts
  uint64_t worst = 0; ///< the same, if all places for rows are in use
};

/// Counts of a program's all_reduces and reduce_scatters. Each counts once, whichever step or bucket has it.
struct Reductions {
  uint64_t all = 0;
  uint64_t library = 0; ///< that a library may add up in its own order
};

struct TransferSummary {
  std::string to; ///< coordinate difference, such as "pp+1"
  uint64_t count = 0, bytes = 0;
};

struct ClassSummary {
  std::string name;
  std::vector<std::pair<int64_t, int64_t>> ranks;            ///< [first, last], ascending
  std::vector<std::pair<std::string, uint32_t>> coordinates; ///< mesh axes that are the same for all ranks of the class
  uint32_t stage = 0;
  uint64_t parameterBytes = 0, gradientBytes = 0, optimizerBytes = 0, activationBytes = 0, arenaBytes = 0;
  uint64_t programSteps = 0;
  double flops = 0;
  std::vector<CollectiveSummary> collectives;
  std::vector<TransferSummary> transfers;
  StepVolume volume;
  TierUse tiers;
};

struct Summary {
  std::string model, plan, schedule;
  std::string central;                ///< the mesh axis whose first rank holds the optimizer of all ranks with samples; empty: none
  std::string step = "training step"; ///< stepWord(program)
  uint64_t parameters = 0, frozenParameters = 0;
  uint64_t stateElements = 0; ///< of states of the model, which are not among its parameters
  /// Parameters that a position meets, and those of them in tables that are only looked up; 0: unknown.
  uint64_t activeParameters = 0, tableParameters = 0;
  int64_t world = 1, batch = 0, micro = 0, microCount = 0;
  uint32_t stages = 1;
  std::vector<std::pair<std::string, uint32_t>> mesh;
  std::vector<ClassSummary> classes;
};

Summary summarize(const program::Program &program);

/// `model, plan, parameters, world, mesh, classes`; bytes and counts per rank and training step.
OrderedJson summaryJson(const Summary &summary);
/// The summary as a table for people.
std::string summaryTable(const Summary &summary);

Reductions reductionsOf(const program::Program &program);

} // namespace npar::show
