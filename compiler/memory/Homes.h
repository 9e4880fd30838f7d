// Chooses the storage of each value of a fragment: a variable, a data buffer, the stash, a box, or scratch memory that it may share with
// values that are no longer live.
#pragma once

#include "compiler/memory/AllocateFragment.h"

namespace npar::memory {

/// Kinds of storage. Reduced: the result of a collective outside of the compute chain, which may be written while other tasks use scratch.
/// Result: a result that the program leaves in memory.
enum class Home { Scratch, Variable, Input, Stash, Unstash, Box, Reduced, Result };

/// Decides homes and in-place steps of one fragment, but no offsets.
class Homes {
public:
  Homes(const FragmentModel &model, const SharedStorage &shared);

  struct Buffer {
    Home home = Home::Scratch;
    uint32_t index = 0; ///< variable, input or result
    uint64_t bytes = 0;
    program::Tier tier = program::Tier::Device; ///< of scratch and of what is kept
    ByteRange place; ///< filled by AllocateFragment.cpp
  };
  std::vector<uint32_t> root;              ///< value -> the value that it is an alias of
  std::vector<uint32_t> def, lastUse;      ///< by root: action index; `none`: not defined by an action, or never used
  std::vector<std::vector<uint32_t>> uses; ///< by root: action indices, ascending
  std::vector<Buffer> buffers;             ///< by value that represents a storage
  std::vector<bool> direct;                ///< writes that need no copy

  /// The value that stands for the storage of `value`.
  uint32_t bufferOf(uint32_t value) const;
  Buffer &storageOf(uint32_t value) { return buffers[bufferOf(value)]; }
  /// Returns whether a product's accumulator and its result share storage.
  bool accumulatesInPlace(const Action &action) const;

  /// Values read from a variable before an order mark: they must keep the old contents.
  template <typename Visit> void forEachOldRead(uint32_t variable, uint32_t before, Visit visit) const {
    for (uint32_t value : reads[variable])
      if (model.values[value].readAt < before)
        visit(value);
  }

private:
  const FragmentModel &model;
  const SharedStorage &shared;
  std::vector<uint32_t> buffer;             // of roots: the root that stands for the storage
  std::vector<std::vector<uint32_t>> reads; // of variables: the values that are read from them
  std::vector<bool> written;                // by root: a variable is set to the value

  void resolve();
  void chooseHomes();
  void writeInPlace();
  void shareStorage();
  bool mayOverwrite(uint32_t value, uint32_t index, uint32_t output) const;
  bool ownsKept(uint32_t value) const;
  uint32_t outputIndex(uint32_t action, uint32_t value) const;
};

} // namespace npar::memory
