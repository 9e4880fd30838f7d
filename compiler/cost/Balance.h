// Cuts the chain of repeated blocks into pipeline stages of nearly equal cost.
#pragma once

#include <vector>

namespace npar::cost {

/// Number of blocks per stage, in order, at least one each: the contiguous partition with the smallest cost of the most expensive stage;
/// among those the one with the smallest sum of squares, then the one with more blocks on earlier stages. `before` counts with the first
/// stage, `after` with the last. Empty when there are fewer blocks than stages.
std::vector<int> balanceBlocks(const std::vector<double> &blockCosts, int stages, double before = 0, double after = 0);

/// Seconds that the parts of a chain take on a stage; they differ between stages whose hosts differ in speed.
struct ChainCosts {
  std::vector<double> blocks;
  double before = 0, after = 0;
};

/// Number of blocks per part of a chain whose parts are spread over stages: `placement[place]` is the stage of a part, `chains[stage]` its
/// costs on that stage (a single entry serves all stages). Minimises as above, where the cost of a stage is the sum over its parts. If
/// stages have several parts, the result is a local optimum: the best that moving single blocks reaches from the cut that treats every part
/// as a stage.
std::vector<int> balanceParts(const std::vector<ChainCosts> &chains, const std::vector<int> &placement);

} // namespace npar::cost
