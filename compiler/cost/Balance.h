// Cuts the chain of repeated blocks into pipeline stages of nearly equal cost.
#pragma once

#include <vector>

namespace npar::cost {

/// Number of blocks per stage, in order, at least one each: the contiguous partition with the smallest cost of the most expensive stage;
/// among those the one with the smallest sum of squares, then the one with more blocks on earlier stages. `before` counts with the first
/// stage, `after` with the last. Empty when there are fewer blocks than stages.
std::vector<int> balanceBlocks(const std::vector<double> &blockCosts, int stages, double before = 0, double after = 0);

} // namespace npar::cost
