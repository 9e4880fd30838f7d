// Cuts the chain of repeated blocks into pipeline stages of nearly equal cost.
#pragma once

#include <vector>

namespace npar::cost {

/// Number of blocks per stage, in order, at least one each: the contiguous partition with the smallest cost of the most expensive stage;
/// among those the one with the smallest sum of squares, then the one with more blocks on earlier stages. `before` counts with the first
/// stage, `after` with the last. Empty when there are fewer blocks than stages.
std::vector<int> balanceBlocks(const std::vector<double> &blockCosts, int stages, double before = 0, double after = 0);

/// What the chain costs on a stage, whose hosts may be slower than another's.
struct ChainCosts {
  std::vector<double> blocks;
  double before = 0, after = 0;
};

/// Number of blocks per part of a chain whose parts are spread over stages: `placement[place]` is the stage of a part, `chains[stage]` what
/// it takes there; one for all stages alike. As above, with the cost of a stage that of all its parts; where stages have several parts, the
/// best that moving single blocks from the cut of one part per stage leads to.
std::vector<int> balanceParts(const std::vector<ChainCosts> &chains, const std::vector<int> &placement);

} // namespace npar::cost
