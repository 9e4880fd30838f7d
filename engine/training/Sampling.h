// The next token from the scores that a model gives each class: the best one, or one drawn at random.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace npar::training {

struct Sampling {
  /// By which scores are divided before their exponentials are the probabilities; 0: always the best class, of equals the one with the
  /// least number.
  double temperature = 0;
  int64_t topK = 0; ///< only the so many best can be drawn; 0: all
  double topP = 1;  ///< of these only the fewest best whose probabilities reach this sum
  uint64_t seed = 0;
};

/// The class that follows `position` tokens. Random numbers come from a counter (seed, position): the same arguments give the same class,
/// on any machine and under any plan that gives the same scores. Nothing where a score is no number or all are -infinity.
std::optional<int32_t> nextToken(const std::vector<double> &scores, const Sampling &sampling, uint64_t position);

} // namespace npar::training
