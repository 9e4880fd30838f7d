// Converts bf16, f16 and TF32 to and from float32 on any machine, bit by bit as the generated kernels do.
#pragma once

#include <cstdint>
#include <cstring>

namespace npar::engine {

inline float floatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
inline uint32_t bitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// The upper half of a float32.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  /// Rounds to nearest, ties to even; NaNs become quiet and keep their upper bits.
  explicit BFloat16(float value) {
    uint32_t word = bitsOfFloat(value);
    bool nan = (word & 0x7FFFFFFFu) > 0x7F800000u;
    bits = static_cast<uint16_t>((nan ? word | 0x00400000u : word + 0x7FFFu + (word >> 16 & 1)) >> 16);
  }
  explicit operator float() const { return floatOfBits(uint32_t{bits} << 16); }
};

/// IEEE 754 binary16.
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  /// Rounds to nearest, ties to even, with gradual underflow. Values beyond the range become infinity; NaNs become quiet and keep their
  /// upper bits.
  explicit Float16(float value) {
    uint32_t word = bitsOfFloat(value), size = word & 0x7FFFFFFFu, half;
    if (size > 0x7F800000u)
      half = 0x7E00u | (size >> 13 & 0x3FFu);
    else if (size >= 0x477FF000u) // 65520 and more
      half = 0x7C00u;
    else if (size < 0x38800000u) // subnormal: adding 0.5 shifts the last place to 2^-24 and rounds
      half = bitsOfFloat(floatOfBits(size) + 0.5f) - 0x3F000000u;
    else
      half = (size - 0x38000000u + 0xFFFu + (size >> 13 & 1)) >> 13;
    bits = static_cast<uint16_t>(word >> 16 & 0x8000u) | static_cast<uint16_t>(half);
  }
  explicit operator float() const {
    uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, mantissa = bits & 0x3FFu;
    if (exponent == 31)
      return floatOfBits(sign | 0x7F800000u | mantissa << 13 | (mantissa ? 0x00400000u : 0u));
    if (exponent == 0) // zero or subnormal
      return (sign ? -1.0f : 1.0f) * static_cast<float>(mantissa) * 0x1p-24f;
    return floatOfBits(sign | (exponent + 112) << 23 | mantissa << 13);
  }
};

/// TF32 (RULES.md#N8), stored as a float32: 10 bits of mantissa, rounded to nearest, ties away from zero, denormals like other numbers;
/// infinities and NaNs stay. Same as `cvt.rna.tf32.f32` of PTX.
inline float toTf32(float value) {
  uint32_t word = bitsOfFloat(value);
  return (word & 0x7F800000u) == 0x7F800000u ? value : floatOfBits((word + 0x1000u) & ~0x1FFFu);
}

} // namespace npar::engine
