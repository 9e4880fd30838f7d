// The entries of a split axis that windows of each rank reach: arithmetic alone, shared by placing, the verifier and the kernels.
#pragma once

#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace npar::dist {

/// Rank i of `members` needs the entries that the numbers i * step + first to i * step + first + extent - 1 are multiples of `spread` for.
/// It has the entries from i * shard on.
struct Reach {
  int64_t members;
  int64_t entries; ///< entries from this one on are in no window
  int64_t shard;   ///< entries of a rank; the last ranks may have fewer
  int64_t step, first, extent, spread;

  /// The first entry that a rank needs, and the one after the last; they can be outside of the axis.
  int64_t begin(int64_t member) const;
  int64_t end(int64_t member) const;

  /// Entries that each rank sends to the one `shift` places further round the ring.
  struct Edge {
    int64_t shift;
    int64_t width; ///< the most entries that one of them needs
  };
  llvm::SmallVector<Edge> edges() const;
  /// Returns whether every rank needs a part of its own entries, the same part on all of them.
  bool isOwn() const { return spread == 1 && step == shard && first >= 0 && first + extent <= shard; }
};

} // namespace npar::dist
