// Temperature, then the k best, then the most probable of these: the order in which transformers narrows a distribution.
#include "engine/training/Sampling.h"

#include "engine/numbers/Philox.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace npar::training {

std::optional<int32_t> nextToken(const std::vector<double> &scores, const Sampling &sampling, uint64_t position) {
  auto isWrong = [](double score) { return std::isnan(score) || score == HUGE_VAL; };
  if (scores.empty() || std::any_of(scores.begin(), scores.end(), isWrong))
    return std::nullopt;
  auto best = std::max_element(scores.begin(), scores.end());
  if (std::isinf(*best))
    return std::nullopt;
  if (sampling.temperature <= 0)
    return static_cast<int32_t>(best - scores.begin());

  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  auto better = [&](int32_t a, int32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; };
  size_t kept = sampling.topK > 0 ? std::min(order.size(), static_cast<size_t>(sampling.topK)) : order.size();
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept), order.end(), better);

  std::vector<double> sums; // cumulative probabilities, not normalized
  for (size_t i = 0; i < kept; ++i)
    sums.push_back((i ? sums.back() : 0) + std::exp((scores[order[i]] - *best) / sampling.temperature));
  double enough = sums.back() * std::min(sampling.topP, 1.0);
  size_t few = static_cast<size_t>(std::lower_bound(sums.begin(), sums.end(), enough) - sums.begin());
  sums.resize(std::min(few + 1, sums.size()));

  constexpr uint64_t stream = 0x67656E6572617465; // "generate": differs from the streams of parameters and dropout sites, which are hashes
  std::array<uint32_t, 4> bits = engine::philox(sampling.seed, stream, position);
  double drawn = engine::uniform(bits[0], bits[1]) * sums.back();
  size_t place = static_cast<size_t>(std::lower_bound(sums.begin(), sums.end(), drawn) - sums.begin());
  return order[std::min(place, sums.size() - 1)];
}

} // namespace npar::training
