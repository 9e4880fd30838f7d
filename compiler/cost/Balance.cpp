// Dynamic programming over (stage, first block): stages * blocks^2 steps; over it a descent for stages of several parts.
#include "compiler/cost/Balance.h"

#include <algorithm>
#include <array>
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

namespace {

/// Smaller is better, the first that differs says: the most expensive stage, the squares of the stages, the squares of the parts.
using Imbalance = std::array<double, 3>;

Imbalance imbalance(const std::vector<double> &blockCosts, const std::vector<int> &counts, const std::vector<int> &placement, double before,
                    double after) {
  std::vector<double> stages(*std::max_element(placement.begin(), placement.end()) + 1, 0);
  Imbalance result{0, 0, 0};
  size_t block = 0;
  for (size_t place = 0; place < counts.size(); ++place) {
    double part = (place == 0 ? before : 0) + (place + 1 == counts.size() ? after : 0);
    for (int i = 0; i < counts[place]; ++i)
      part += blockCosts[block++];
    stages[placement[place]] += part;
    result[2] += part * part;
  }
  for (double cost : stages) {
    result[0] = std::max(result[0], cost);
    result[1] += cost * cost;
  }
  return result;
}

/// Sums of floating-point numbers: a gain must be more than their rounding.
bool isBetter(const Imbalance &value, const Imbalance &best) {
  for (size_t i = 0; i < value.size(); ++i)
    if (value[i] < best[i] * (1 - 1e-9) || value[i] > best[i] * (1 + 1e-9))
      return value[i] < best[i];
  return false;
}

} // namespace

std::vector<int> balanceParts(const std::vector<double> &blockCosts, const std::vector<int> &placement, double before, double after) {
  std::vector<int> counts = balanceBlocks(blockCosts, static_cast<int>(placement.size()), before, after);
  if (counts.empty() || static_cast<int>(placement.size()) == *std::max_element(placement.begin(), placement.end()) + 1)
    return counts;
  Imbalance best = imbalance(blockCosts, counts, placement, before, after);
  for (bool better = true; better;) {
    better = false;
    for (size_t from = 0; from < counts.size(); ++from)
      for (size_t to = 0; to < counts.size(); ++to) {
        if (from == to || counts[from] == 1)
          continue;
        --counts[from], ++counts[to];
        Imbalance value = imbalance(blockCosts, counts, placement, before, after);
        if (isBetter(value, best)) {
          value[0] = std::min(value[0], best[0]); // equal but for rounding: it never grows
          best = value;
          better = true;
        } else {
          ++counts[from], --counts[to];
        }
      }
  }
  return counts;
}

} // namespace npar::cost
