// Chooses the next token from a model's scores of all classes: the best one, or one drawn at random.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace npar::training {

struct Sampling {
  /// Divisor of the scores before the softmax; 0: always the best class, the lowest number among equals.
  double temperature = 0;
  int64_t topK = 0; ///< only the `topK` best classes can be drawn; 0: all
  double topP = 1;  ///< of these, only the best ones whose probabilities together reach this sum
  uint64_t seed = 0;
};

/// The class that follows `position` tokens. Random numbers are a function of (seed, position), so equal scores give the same class on
/// any machine and under any plan. Nothing if a score is NaN or +infinity, or if all scores are -infinity.
std::optional<int32_t> nextToken(const std::vector<double> &scores, const Sampling &sampling, uint64_t position);

} // namespace npar::training
