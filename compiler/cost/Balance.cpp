// Dynamic programming over (stage, first block): stages * blocks^2 steps.
#include "compiler/cost/Balance.h"

#include <algorithm>
#include <limits>

namespace npar::cost {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Prefix sums of the chain, to cost any stage in constant time.
class Chain {
public:
  Chain(const std::vector<double> &costs, int stages, double before, double after) : stages(stages), before(before), after(after) {
    sums.push_back(0);
    for (double cost : costs)
      sums.push_back(sums.back() + cost);
  }

  int size() const { return sums.size() - 1; }

  double stageCost(int stage, int first, int end) const {
    return sums[end] - sums[first] + (stage == 0 ? before : 0) + (stage == stages - 1 ? after : 0);
  }

  /// The best cuts of the whole chain: `join(cost of one stage, best of the rest)` is minimised. Returns its value.
  template <typename Join> double partition(Join join, std::vector<int> &counts) const {
    int blocks = size();
    std::vector<std::vector<double>> best(stages + 1, std::vector<double>(blocks + 1, infinity));
    std::vector<std::vector<int>> cut(stages, std::vector<int>(blocks + 1, 0));
    best[stages][blocks] = 0;
    for (int stage = stages - 1; stage >= 0; --stage)
      for (int first = stage; first <= blocks - (stages - stage); ++first)
        // From long to short: the strict comparison keeps the earlier stage longer when costs are equal.
        for (int end = blocks - (stages - stage - 1); end > first; --end) {
          double value = join(stageCost(stage, first, end), best[stage + 1][end]);
          if (value < best[stage][first]) {
            best[stage][first] = value;
            cut[stage][first] = end;
          }
        }
    counts.clear();
    for (int stage = 0, first = 0; stage < stages && best[0][0] < infinity; ++stage) {
      counts.push_back(cut[stage][first] - first);
      first = cut[stage][first];
    }
    return best[0][0];
  }

private:
  std::vector<double> sums;
  int stages;
  double before, after;
};

} // namespace

std::vector<int> balanceBlocks(const std::vector<double> &blockCosts, int stages, double before, double after) {
  if (stages < 1 || static_cast<int>(blockCosts.size()) < stages)
    return {};
  Chain chain(blockCosts, stages, before, after);
  std::vector<int> counts;
  double most = chain.partition([](double cost, double rest) { return std::max(cost, rest); }, counts);
  // Sums of floating-point numbers: equal blocks must count as equal.
  double bound = most * (1 + 1e-9);
  chain.partition([&](double cost, double rest) { return cost > bound ? infinity : cost * cost + rest; }, counts);
  return counts;
}

} // namespace npar::cost
