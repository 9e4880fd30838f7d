// Helps to check sizes and enumerations.
#pragma once

#include "engine/program/Checks.h"

#include <cstdint>
#include <string>

namespace npar::program {

using Wide = unsigned __int128;

inline std::string number(uint64_t value) { return std::to_string(value); }

/// Product of positive factors, or nothing when one is not positive or the product passes 2^62.
template <typename Range> bool product(const Range &factors, uint64_t &result) {
  Wide value = 1;
  for (int64_t factor : factors) {
    if (factor <= 0 || (value *= static_cast<uint64_t>(factor)) > largestSize)
      return false;
  }
  result = static_cast<uint64_t>(value);
  return true;
}

/// Returns whether a number is from 0 to 1. Written so that it refuses NaN.
inline bool isPart(double value) { return value >= 0 && value <= 1; }

template <typename Enum> bool known(Enum value) { return value >= Enum::MIN && value <= Enum::MAX; }

} // namespace npar::program
