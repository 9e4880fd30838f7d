// Random elements by type, and their comparison bit by bit.
#include "tests/engine/backends/gpu/RandomBuffer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace npar::engine {

namespace {
/// The bits of the exponent and of the fraction in the word of a type of floats.
struct Format {
  int exponent, fraction;
};

Format formatOf(const std::string &type) {
  if (type == "f64")
    return {11, 52};
  if (type == "f32")
    return {8, 23};
  return type == "bf16" ? Format{8, 7} : Format{5, 10};
}

/// A float of the format whose exponent and fraction are drawn: every finite number, infinity and NaN can come.
uint64_t anyBits(const Format &format, std::mt19937_64 &random) { return random() >> (63 - format.exponent - format.fraction); }

uint64_t specialBits(const Format &format, std::mt19937_64 &random) {
  uint64_t infinity = ((uint64_t{1} << format.exponent) - 1) << format.fraction;
  uint64_t sign = (random() & 1) << (format.exponent + format.fraction);
  switch (random() % 5) {
  case 0:
    return sign | infinity;
  case 1:
    return sign | infinity | uint64_t{1} << (format.fraction - 1);
  case 2:
    return sign;
  case 3:
    return sign | (random() & ((uint64_t{1} << format.fraction) - 1)); // a denormal
  default:
    return anyBits(format, random);
  }
}

uint64_t ordinaryBits(const std::string &type, double value) {
  auto single = static_cast<float>(value);
  uint32_t word;
  std::memcpy(&word, &single, sizeof word);
  if (type == "f32")
    return word;
  if (type == "bf16")
    return word >> 16;
  if (type == "f16") { // values far from the ends of its range: only the exponent's bias differs
    uint32_t exponent = (word >> 23) & 255;
    return exponent < 113 ? 0 : (word >> 16 & 0x8000) | (exponent - 112) << 10 | (word >> 13 & 0x3FF);
  }
  uint64_t wide;
  std::memcpy(&wide, &value, sizeof wide);
  return wide;
}

bool isNaN(const Format &format, uint64_t bits) {
  uint64_t infinity = ((uint64_t{1} << format.exponent) - 1) << format.fraction;
  return (bits & ((uint64_t{1} << (format.exponent + format.fraction)) - 1)) > infinity;
}

bool isFloat(const std::string &type) { return type == "f64" || type == "f32" || type == "bf16" || type == "f16"; }
} // namespace

void fillBuffer(const cuda::KernelBuffer &buffer, uint8_t *bytes, std::mt19937_64 &random, int64_t entries, bool special) {
  std::normal_distribution<double> normal(0, 3);
  size_t size = buffer.elementBytes(), drawn = std::min<size_t>(buffer.count, 1 << 20); // then they come again
  for (size_t i = 0; i < drawn; ++i) {
    uint64_t bits = isFloat(buffer.type) ? ordinaryBits(buffer.type, normal(random)) : random() % static_cast<uint64_t>(entries);
    if (isFloat(buffer.type) && special && random() % 8 == 0)
      bits = specialBits(formatOf(buffer.type), random);
    std::memcpy(bytes + i * size, &bits, size); // little-endian, as the kernels are
  }
  for (size_t done = drawn; done < buffer.count; done += drawn)
    std::memcpy(bytes + done * size, bytes, std::min(drawn, buffer.count - done) * size);
}

size_t countDifferences(const cuda::KernelBuffer &buffer, const uint8_t *left, const uint8_t *right) {
  if (std::memcmp(left, right, buffer.bytes()) == 0)
    return 0;
  size_t size = buffer.elementBytes(), count = 0;
  for (size_t i = 0; i < buffer.count; ++i) {
    uint64_t a = 0, b = 0;
    std::memcpy(&a, left + i * size, size);
    std::memcpy(&b, right + i * size, size);
    bool bothNaN = isFloat(buffer.type) && isNaN(formatOf(buffer.type), a) && isNaN(formatOf(buffer.type), b);
    count += a != b && !bothNaN;
  }
  return count;
}

} // namespace npar::engine
