// The results of a forward-only program, put together from the buffers of the ranks that keep them.
#pragma once

#include "engine/device/Backend.h"
#include "engine/runtime/LocalRanks.h"
#include "engine/runtime/SampleRuns.h"
#include "engine/runtime/Variables.h"

#include <string>
#include <vector>

namespace npar::engine {

class Results {
public:
  /// Reads the buffers that these ranks keep. The arenas are memory of `backend`. `gather` reaches the ranks of other sessions; null says
  /// that there are none. What is referred to outlives this.
  Results(const program::Program &program, const std::vector<LocalRank> &ranks, Backend &backend, GatherBytes gather);

  /// `count` elements of a logical result from element `first` on, row-major over LogicalResult.shape: what the last step left. With ranks
  /// in other sessions all of them must read, in the same order, and each gets the elements.
  Result<std::vector<double>> read(const std::string &name, uint64_t first, uint64_t count) const;

private:
  /// The elements of `count` from `first` on that a rank is asked for, one contiguous piece after the other: visit(offset among them,
  /// offset in the arena in bytes, how many).
  template <typename Visit> void forEachPiece(int64_t rank, uint32_t result, uint64_t first, uint64_t count, Visit visit) const;
  Status copyOwn(uint32_t result, uint64_t first, uint64_t count, std::vector<uint8_t> &bytes) const;

  const program::Program &program;
  const std::vector<LocalRank> &ranks;
  Backend &backend;
  GatherBytes gather;
};

} // namespace npar::engine
