// Dynamic programming over (stage, first block): stages * blocks^2 steps; over it a descent for stages of several parts.
#include "compiler/cost/Balance.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace npar::cost {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The chain on the stage of part `place`.
const ChainCosts &chainAt(const std::vector<ChainCosts> &chains, const std::vector<int> &placement, size_t place) {
  return chains[chains.size() == 1 ? 0 : static_cast<size_t>(placement[place])];
}

/// Prefix sums of the chain, to cost any part in constant time.
class Chain {
public:
  Chain(const std::vector<ChainCosts> &chains, const std::vector<int> &placement)
      : chains(chains), placement(placement), stages(static_cast<int>(placement.size())) {
    for (const ChainCosts &chain : chains) {
      sums.emplace_back(1, 0);
      for (double cost : chain.blocks)
        sums.back().push_back(sums.back().back() + cost);
    }
  }

  int size() const { return static_cast<int>(sums.front().size()) - 1; }

  double stageCost(int place, int first, int end) const {
    const ChainCosts &chain = chainAt(chains, placement, static_cast<size_t>(place));
    const std::vector<double> &own = sums[static_cast<size_t>(&chain - chains.data())];
    return own[end] - own[first] + (place == 0 ? chain.before : 0) + (place == stages - 1 ? chain.after : 0);
  }

  /// The best cuts of the whole chain: `join(cost of one stage, best of the rest)` is minimised. Returns its value.
  template <typename Join> double partition(Join join, std::vector<int> &counts) const {
    int blocks = size();
    std::vector<std::vector<double>> best(stages + 1, std::vector<double>(blocks + 1, infinity));
    std::vector<std::vector<int>> cut(stages, std::vector<int>(blocks + 1, 0));
    best[stages][blocks] = 0;
    for (int stage = stages - 1; stage >= 0; --stage)
      for (int first = stage; first <= blocks - (stages - stage); ++first)
        // Longest range first: because the comparison is strict, the earlier stage gets more blocks when costs are equal.
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
  const std::vector<ChainCosts> &chains;
  const std::vector<int> &placement;
  std::vector<std::vector<double>> sums; ///< of each chain
  int stages;                            ///< parts, each of which is cut as a stage of its own
};

/// Each part for itself.
std::vector<int> cutParts(const std::vector<ChainCosts> &chains, const std::vector<int> &placement) {
  if (placement.empty() || chains.front().blocks.size() < placement.size())
    return {};
  Chain chain(chains, placement);
  std::vector<int> counts;
  double most = chain.partition([](double cost, double rest) { return std::max(cost, rest); }, counts);
  // Sums of floating-point numbers: equal blocks must count as equal.
  double bound = most * (1 + 1e-9);
  chain.partition([&](double cost, double rest) { return cost > bound ? infinity : cost * cost + rest; }, counts);
  return counts;
}

} // namespace

std::vector<int> balanceBlocks(const std::vector<double> &blockCosts, int stages, double before, double after) {
  return cutParts({{blockCosts, before, after}}, std::vector<int>(static_cast<size_t>(std::max(0, stages)), 0));
}

namespace {

/// Costs that are compared lexicographically; smaller is better. If one chain serves all stages: the most expensive stage, the sum of the
/// squares of the stages, the sum of the squares of the parts. Otherwise the costs of all stages, the most expensive first, replace the
/// first two, because squares would keep blocks on fast stages.
using Imbalance = std::vector<double>;

Imbalance imbalance(const std::vector<ChainCosts> &chains, const std::vector<int> &counts, const std::vector<int> &placement) {
  std::vector<double> stages(*std::max_element(placement.begin(), placement.end()) + 1, 0);
  double squares = 0, squaresOfParts = 0;
  size_t block = 0;
  for (size_t place = 0; place < counts.size(); ++place) {
    const ChainCosts &chain = chainAt(chains, placement, place);
    double part = (place == 0 ? chain.before : 0) + (place + 1 == counts.size() ? chain.after : 0);
    for (int i = 0; i < counts[place]; ++i)
      part += chain.blocks[block++];
    stages[placement[place]] += part;
    squaresOfParts += part * part;
  }
  for (double cost : stages)
    squares += cost * cost;
  if (chains.size() == 1)
    return {*std::max_element(stages.begin(), stages.end()), squares, squaresOfParts};
  std::sort(stages.begin(), stages.end(), std::greater<>());
  stages.push_back(squaresOfParts);
  return stages;
}

/// Sums of floating-point numbers: a gain must be more than their rounding.
bool isBetter(const Imbalance &value, const Imbalance &best) {
  for (size_t i = 0; i < value.size(); ++i)
    if (value[i] < best[i] * (1 - 1e-9) || value[i] > best[i] * (1 + 1e-9))
      return value[i] < best[i];
  return false;
}

} // namespace

std::vector<int> balanceParts(const std::vector<ChainCosts> &chains, const std::vector<int> &placement) {
  std::vector<int> counts = cutParts(chains, placement);
  if (counts.empty() || static_cast<int>(placement.size()) == *std::max_element(placement.begin(), placement.end()) + 1)
    return counts;
  Imbalance best = imbalance(chains, counts, placement);
  for (bool better = true; better;) {
    better = false;
    for (size_t from = 0; from < counts.size(); ++from)
      for (size_t to = 0; to < counts.size(); ++to) {
        if (from == to || counts[from] == 1)
          continue;
        --counts[from], ++counts[to];
        Imbalance value = imbalance(chains, counts, placement);
        if (isBetter(value, best)) {
          value[0] = std::min(value[0], best[0]); // equal up to rounding; the minimum keeps it from growing
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
