// One fragment of a class: which storage each value has, where scratch buffers lie, and what each step must wait for. No MLIR.
#pragma once

#include "compiler/passes/export/Plan.h"

#include <map>

namespace npar::plan {

/// Regions that every class has, by index; boxes follow.
enum RegionIndex : uint32_t { staticRegion = 0, scratchRegion = 1, stashRegion = 2, inputRegion = 3, firstBox = 4 };

struct Place {
  uint32_t region = 0;
  uint64_t offset = 0, bytes = 0;
};

/// Where the fragments of a class find what they share; forwards add their stashes and everything its boxes.
struct SharedStorage {
  std::vector<uint64_t> variables, inputs;  ///< offsets in their regions
  std::vector<program::VariableKind> kinds; ///< of the variables
  std::map<std::string, Place> stash;
  uint64_t stashBytes = 0;
  std::map<uint32_t, uint32_t> boxes;                       ///< event -> region
  std::vector<std::pair<std::string, uint64_t>> boxRegions; ///< name and bytes of region firstBox + i
};

struct FragmentPlan {
  std::unique_ptr<program::FragmentT> fragment;
  uint64_t scratch = 0;                 ///< bytes
  uint64_t scratchWithoutWorkspace = 0; ///< bytes if no library call needed any
  double seconds = 0;
};

/// Plans a fragment. Forwards must come before the backwards that read their stashes. `copyLabel` labels the copies that it adds.
FragmentPlan planFragment(const FragmentModel &model, SharedStorage &shared, std::string &error);

/// Fills the dependency lists of a fragment from its operands alone: every earlier step with which a step conflicts in memory, less those
/// that follow from others. In-place operands count as reads and writes.
void addDependencies(program::FragmentT &fragment);

} // namespace npar::plan
