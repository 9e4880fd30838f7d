// Allocates one fragment of a class: the storage of each value, the offsets of scratch buffers, the dependencies of each step. No MLIR.
#pragma once

#include "compiler/memory/Allocate.h"

#include <map>

namespace npar::memory {

/// Indices of the regions that every class has; regions that fragments share per micro-batch (boxes and stashes) follow.
enum RegionIndex : uint32_t { staticRegion = 0, scratchRegion = 1, inputRegion = 2, firstShared = 3 };

struct ByteRange {
  uint32_t region = 0;
  uint64_t offset = 0, bytes = 0;
};

enum class RegionUse {
  Kept,     ///< the values that one fragment keeps for the same later fragments, or that free collectives make
  Box,      ///< a message
  Lasting,  ///< a slot for each micro-batch, whose contents outlast the step
  Variables,///< of a tier other than the device's
  Scratch   ///< of the host's memory
};

/// A region besides the first three.
struct SharedRegion {
  std::string name;
  uint64_t bytes = 0;
  RegionUse use = RegionUse::Kept;
  program::Tier tier = program::Tier::Device;
};

/// Storage that the fragments of a class share. Allocating a fragment adds its boxes and the values that it keeps.
struct SharedStorage {
  std::vector<uint64_t> variables, inputs;    ///< offsets in their regions
  std::vector<uint32_t> variableRegions;      ///< of the variables
  std::vector<program::Tier> tiers;           ///< of the variables
  std::vector<ByteRange> results;             ///< places in their region
  std::vector<program::VariableKind> kinds;   ///< of the variables
  std::map<std::string, std::string> keepers; ///< slot of a kept value -> name of its stash, filled before any fragment
  std::map<std::string, uint32_t> users;      ///< slot -> number of fragments and messages that use the kept value
  std::map<std::string, uint32_t> stashes;    ///< name of a stash -> region
  std::map<std::string, ByteRange> kept;      ///< slot -> place
  std::vector<SharedRegion> regions;          ///< region firstShared + i
};

struct FragmentMemory {
  std::unique_ptr<program::FragmentT> fragment;
  uint64_t scratch = 0; ///< bytes on the device
  double seconds = 0;
};

/// Allocates a fragment's memory. Fragments that keep values must come before those that use them.
FragmentMemory allocateFragment(const FragmentModel &model, SharedStorage &shared, std::string &error);

/// Fills the dependency lists of a fragment from its operands alone: every earlier step with which a step conflicts in memory, less those
/// that follow from others. In-place operands count as reads and writes.
void addDependencies(program::FragmentT &fragment);

} // namespace npar::memory
