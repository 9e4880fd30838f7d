// A pseudo-random order of n things that needs no memory: the same for every plan, by seed and epoch.
#pragma once

#include <cstdint>

namespace npar::engine {

/// A bijection of [0, n): a Feistel network over the next even power of two with Philox as round function, walked until it falls
/// inside (Black, Rogaway: Ciphers with arbitrary finite domains, 2002).
class Permutation {
public:
  Permutation(int64_t n, uint64_t seed, uint64_t epoch);
  int64_t operator()(int64_t index) const;

private:
  int64_t n;
  uint64_t seed, epoch;
  int halfBits = 1;
};

} // namespace npar::engine
