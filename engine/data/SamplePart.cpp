// Draws the parts as runs of one permutation, and finds the k-th of a part by counting bits.
#include "engine/data/SamplePart.h"

#include "engine/data/Permutation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace npar::engine {

namespace {
constexpr size_t wordsOfBlock = 8;
} // namespace

SamplePart::SamplePart(int64_t n, const Split &split, uint64_t file) : count(n) {
  if (split.shares.empty())
    return;
  auto boundary = [&](size_t parts) {
    double sum = std::accumulate(split.shares.begin(), split.shares.begin() + static_cast<std::ptrdiff_t>(parts), 0.0);
    return std::min<int64_t>(n, std::llround(sum * static_cast<double>(n)));
  };
  int64_t begin = boundary(split.part), end = boundary(split.part + 1);
  count = end - begin;
  bits.resize(static_cast<size_t>(n + 63) / 64);
  Permutation permutation(n, split.seed, file);
  for (int64_t i = begin; i < end; ++i) {
    auto thing = static_cast<uint64_t>(permutation(i));
    bits[thing / 64] |= uint64_t{1} << thing % 64;
  }
  int64_t before = 0;
  for (size_t word = 0; word < bits.size(); ++word) {
    if (word % wordsOfBlock == 0)
      counted.push_back(before);
    before += __builtin_popcountll(bits[word]);
  }
}

int64_t SamplePart::operator()(int64_t place) const {
  if (bits.empty())
    return place;
  auto block = static_cast<size_t>(std::upper_bound(counted.begin(), counted.end(), place) - counted.begin()) - 1;
  int64_t left = place - counted[block];
  size_t word = block * wordsOfBlock;
  for (int64_t here; left >= (here = __builtin_popcountll(bits[word])); ++word)
    left -= here;
  uint64_t rest = bits[word];
  for (; left > 0; --left)
    rest &= rest - 1;
  return static_cast<int64_t>(word * 64) + __builtin_ctzll(rest);
}

} // namespace npar::engine
