// Draws operands for trials, and reads the results of kernels.
#include "engine/backends/cuda/library/DrawnNumbers.h"

#include "engine/numbers/NarrowFloat.h"
#include "engine/program/Elements.h"

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
    if (type == ElementType::F64)
      put(i, value);
    else if (type == ElementType::BF16)
      put(i, program::BFloat16(static_cast<float>(value)));
    else if (type == ElementType::F16)
      put(i, program::Float16(static_cast<float>(value)));
    else
      put(i, static_cast<float>(value));
  }
  return bytes;
}

double elementAt(const std::vector<uint8_t> &bytes, size_t i, ElementType type) {
  auto get = [&](auto value) {
    std::memcpy(&value, &bytes[i * sizeof value], sizeof value);
    return value;
  };
  if (type == ElementType::F64)
    return get(double());
  if (type == ElementType::BF16)
    return static_cast<double>(static_cast<float>(get(program::BFloat16())));
  if (type == ElementType::F16)
    return static_cast<double>(static_cast<float>(get(program::Float16())));
  return static_cast<double>(get(float()));
}

} // namespace npar::engine::cuda
