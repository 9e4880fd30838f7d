// A pseudo-random order of n things that needs no memory: the same for every plan, by seed and epoch.
#include "engine/data/Permutation.h"

#include "engine/numbers/Philox.h"

namespace npar::engine {

namespace {
constexpr int rounds = 4;
constexpr uint64_t streamOfSamples = 0x73616D706C6573; // "samples": keeps these numbers apart from those of parameters
} // namespace

Permutation::Permutation(int64_t n, uint64_t seed, uint64_t epoch) : n(n), seed(seed), epoch(epoch) {
  while (uint64_t{1} << (2 * halfBits) < static_cast<uint64_t>(n))
    ++halfBits;
}

int64_t Permutation::operator()(int64_t index) const {
  uint64_t mask = (uint64_t{1} << halfBits) - 1, value = static_cast<uint64_t>(index);
  do {
    uint64_t left = value >> halfBits, right = value & mask;
    for (uint32_t round = 0; round < rounds; ++round) {
      auto bits = philox({static_cast<uint32_t>(right), static_cast<uint32_t>(right >> 32) ^ round << 28, static_cast<uint32_t>(epoch),
                          static_cast<uint32_t>(epoch >> 32)},
                         seed ^ streamOfSamples);
      uint64_t next = left ^ ((uint64_t{bits[1]} << 32 | bits[0]) & mask);
      left = right, right = next;
    }
    value = left << halfBits | right;
  } while (value >= static_cast<uint64_t>(n));
  return static_cast<int64_t>(value);
}

} // namespace npar::engine
