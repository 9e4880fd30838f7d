// Draws operands for trials, and reads the results of kernels.
#include "engine/backends/cuda/library/DrawnNumbers.h"

#include "engine/numbers/Convert.h"

#include <cstring>
#include <random>

namespace npar::engine::cuda {

using program::ElementType;

namespace {
constexpr int64_t period = 65537; ///< no row is the next one
} // namespace

std::vector<uint8_t> drawnNumbers(ElementType type, uint64_t seed, double times) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> bytes(static_cast<size_t>(period) * program::sizeOf(type));
  auto put = [&](int64_t i, auto value) { std::memcpy(&bytes[static_cast<size_t>(i) * sizeof value], &value, sizeof value); };
  for (int64_t i = 0; i < period; ++i) {
    double value = static_cast<double>(static_cast<int64_t>(random())) * 0x1p-63 * times;
    withType(type, [&](auto element) { put(i, nearestElement<decltype(element)>(value)); });
  }
  return bytes;
}

double elementAt(const std::vector<uint8_t> &bytes, size_t i, ElementType type) {
  return withType(type, [&](auto element) {
    std::memcpy(&element, &bytes[i * sizeof element], sizeof element);
    return exactValue(element);
  });
}

} // namespace npar::engine::cuda
