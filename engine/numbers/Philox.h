// Philox 4x32-10: counter-based random numbers, with which any rank can compute any element alone.
// Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace npar::engine {

/// 128 random bits for a 128-bit counter and a 64-bit key.
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, uint64_t key) {
  uint32_t low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t{0xD2511F53} * counter[0], second = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ low, static_cast<uint32_t>(second),
               static_cast<uint32_t>(first >> 32) ^ counter[3] ^ high, static_cast<uint32_t>(first)};
    low += 0x9E3779B9, high += 0xBB67AE85;
  }
  return counter;
}

/// Keyed by (seed, stream), counted by index: the form that the engine uses everywhere.
inline std::array<uint32_t, 4> philox(uint64_t seed, uint64_t stream, uint64_t index) {
  return philox({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), static_cast<uint32_t>(stream),
                 static_cast<uint32_t>(stream >> 32)},
                seed);
}

/// Uniform random number in (0, 1], from 53 of 64 bits.
inline double uniform(uint32_t high, uint32_t low) { return ((uint64_t{high} << 32 | low) >> 11) * 0x1p-53 + 0x1p-53; }

} // namespace npar::engine
