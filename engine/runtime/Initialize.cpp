// First values of parameters: a function of seed, name and logical index alone, hence the same under any plan (RULES.md#N1).
#include "engine/runtime/Initialize.h"

#include "engine/numbers/Philox.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <xxhash.h>

namespace npar::engine {

namespace {

/// Values in pairs, each made of two uniform numbers from (0, 1].
template <typename T, typename Pair>
void draw(const program::Variable &variable, uint64_t seed, uint64_t begin, uint64_t count, T *values, Pair pairOf) {
  const uint64_t stream = XXH64(variable.name()->c_str(), variable.name()->size(), 0), end = begin + count;
  for (uint64_t pair = begin / 2; pair * 2 < end; ++pair) {
    const std::array<uint32_t, 4> bits = philox(seed, stream, pair);
    const auto [even, odd] = pairOf(uniform(bits[0], bits[1]), uniform(bits[2], bits[3]));
    if (pair * 2 >= begin)
      values[pair * 2 - begin] = static_cast<T>(even);
    if (pair * 2 + 1 >= begin && pair * 2 + 1 < end)
      values[pair * 2 + 1 - begin] = static_cast<T>(odd);
  }
}

template <typename T> void fill(const program::Variable &variable, uint64_t seed, uint64_t begin, uint64_t count, T *values) {
  const double number = variable.deviation();
  switch (variable.init()) {
  case program::InitKind::Zeros:
    std::fill_n(values, count, T(0));
    return;
  case program::InitKind::Ones:
    std::fill_n(values, count, T(1));
    return;
  case program::InitKind::Constant:
    std::fill_n(values, count, static_cast<T>(number));
    return;
  case program::InitKind::Normal:
    return draw(variable, seed, begin, count, values, [number](double u, double v) {
      const double radius = std::sqrt(-2 * std::log(u)), angle = 2 * M_PI * v;
      return std::pair<double, double>{number * radius * std::cos(angle), number * radius * std::sin(angle)};
    });
  case program::InitKind::Uniform:
    return draw(variable, seed, begin, count, values, [number](double u, double v) {
      return std::pair<double, double>{number * (1 - 2 * u), number * (1 - 2 * v)};
    });
  }
}

} // namespace

void initialValues(const program::Variable &variable, uint64_t seed, uint64_t begin, uint64_t count, float *values) {
  fill(variable, seed, begin, count, values);
}

void initialValues(const program::Variable &variable, uint64_t seed, uint64_t begin, uint64_t count, double *values) {
  fill(variable, seed, begin, count, values);
}

} // namespace npar::engine
