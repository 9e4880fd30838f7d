// First values of parameters: a function of seed, name and logical index alone, hence the same under any plan (RULES.md#N1).
#include "engine/runtime/Initialize.h"

#include "engine/numbers/Philox.h"

#include <algorithm>
#include <cmath>
#include <xxhash.h>

namespace npar::engine {

namespace {

template <typename T> void fill(const program::Variable &variable, uint64_t seed, uint64_t begin, uint64_t count, T *values) {
  if (variable.init() != program::InitKind::Normal) {
    double value = variable.init() == program::InitKind::Ones       ? 1
                   : variable.init() == program::InitKind::Constant ? variable.deviation()
                                                                    : 0;
    std::fill_n(values, count, static_cast<T>(value));
    return;
  }
  uint64_t stream = XXH64(variable.name()->c_str(), variable.name()->size(), 0), end = begin + count;
  for (uint64_t pair = begin / 2; pair * 2 < end; ++pair) {
    std::array<uint32_t, 4> bits = philox(seed, stream, pair);
    double radius = std::sqrt(-2 * std::log(uniform(bits[0], bits[1]))), angle = 2 * M_PI * uniform(bits[2], bits[3]);
    if (pair * 2 >= begin)
      values[pair * 2 - begin] = static_cast<T>(variable.deviation() * radius * std::cos(angle));
    if (pair * 2 + 1 >= begin && pair * 2 + 1 < end)
      values[pair * 2 + 1 - begin] = static_cast<T>(variable.deviation() * radius * std::sin(angle));
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
