// Floats as PTX has them: one NaN, 16-bit ones by way of 32 bits.
#pragma once

#include "tests/engine/backends/standin/ptx/Lanewise.h"

#include <cmath>

namespace npar::standin::ptx {

constexpr uint32_t nan32 = 0x7FFFFFFF;
constexpr uint64_t nan64 = 0x7FF8000000000000;
constexpr uint16_t nan16 = 0x7FFF; ///< of f16 and bf16

inline uint32_t canonical(float value) { return value != value ? nan32 : bitsAs<uint32_t>(value); }
inline uint64_t canonical(double value) { return value != value ? nan64 : bitsAs<uint64_t>(value); }

inline float halfToFloat(uint16_t half) {
  uint32_t rest = half & 0x7FFFu, sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  // Denormals are their fraction in units of 2^-24, which a product with a power of two makes exactly.
  uint32_t small = bitsAs<uint32_t>(static_cast<float>(static_cast<int32_t>(rest)) * 0x1p-24f);
  uint32_t wide = rest >= 0x7C00u ? (rest << 13) + 0x70000000u : (rest << 13) + 0x38000000u;
  return bitsAs<float>(sign | (rest < 0x400u ? small : wide));
}

/// Rounds to nearest, ties to even.
inline uint16_t floatToHalf(float value) {
  uint32_t word = bitsAs<uint32_t>(value), rest = word & 0x7FFFFFFFu, sign = word >> 16 & 0x8000u;
  // Adding 0.5 leaves the units of 2^-24 at the end of the fraction, rounded.
  uint32_t small = bitsAs<uint32_t>(bitsAs<float>(rest < 0x38800000u ? rest : 0u) + 0.5f) - 0x3F000000u;
  uint32_t normal = (rest - 0x38000000u + 0xFFFu + (rest >> 13 & 1u)) >> 13;
  uint32_t half = rest < 0x38800000u ? small : rest < 0x47800000u ? normal : 0x7C00u;
  return static_cast<uint16_t>(rest > 0x7F800000u ? nan16 : (sign | half));
}

inline float bfloatToFloat(uint16_t bits) { return bitsAs<float>(static_cast<uint32_t>(bits) << 16); }

inline uint16_t floatToBfloat(float value) {
  uint32_t word = bitsAs<uint32_t>(value);
  uint32_t rounded = (word + 0x7FFFu + (word >> 16 & 1u)) >> 16;
  return static_cast<uint16_t>((word & 0x7FFFFFFFu) > 0x7F800000u ? nan16 : rounded);
}

/// A type's register (an unsigned integer), the float that its arithmetic is done in, and the way there and back.
struct F32 {
  using Register = uint32_t;
  static float read(uint32_t bits) { return bitsAs<float>(bits); }
  static uint32_t write(float value) { return canonical(value); }
};
/// F32 whose denormals are zeros of their sign, as operands and as results (`.ftz`).
struct FlushedF32 {
  using Register = uint32_t;
  static uint32_t flush(uint32_t bits) { return (bits & 0x7F800000u) != 0 ? bits : bits & 0x80000000u; }
  static float read(uint32_t bits) { return bitsAs<float>(flush(bits)); }
  static uint32_t write(float value) { return flush(canonical(value)); }
};
struct F64 {
  using Register = uint64_t;
  static double read(uint64_t bits) { return bitsAs<double>(bits); }
  static uint64_t write(double value) { return canonical(value); }
};
/// Sums, products and quotients of 32 bits rounded once more to 16 are those of 16 bits.
struct F16 {
  using Register = uint16_t;
  static float read(uint16_t bits) { return halfToFloat(bits); }
  static uint16_t write(float value) { return floatToHalf(value); }
};

} // namespace npar::standin::ptx
