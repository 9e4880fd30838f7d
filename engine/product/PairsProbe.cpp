// Tries whether VDPBF16PS of this processor sums as BF16Pairs is defined: makers may differ in what their manuals leave open.
#include "engine/product/Product.h"

#include <cstring>
#include <random>
#include <vector>

namespace npar::engine {

namespace {

/// One tile, over an odd number of k. 16 of them fill half a line of a panel.
constexpr int64_t depth = 33;

/// Numbers of both signs near 1, near the square root of the smallest normal number, whose products are denormal, denormals and zeros.
std::vector<uint16_t> operandsOf(size_t count, unsigned seed) {
  constexpr uint16_t exponents[] = {0x3f80, 0x3f00, 0x4000, 0x2000, 0x1f80, 0x0000};
  std::minstd_rand random(seed);
  std::vector<uint16_t> values(count);
  for (uint16_t &value : values) {
    uint32_t bits = uint32_t(random()) >> 8;
    value = uint16_t((bits & 0x807f) | exponents[(bits >> 16) % 6]);
    if (bits % 16 == 0)
      value &= 0x8000;
  }
  return values;
}

std::vector<float> definedProduct(const std::vector<uint16_t> &a, const std::vector<uint16_t> &b, int64_t rows, int64_t columns) {
  Product product({ProductType::BF16Pairs, rows, columns, depth, depth, columns, columns}, 1, InstructionSet::Plain);
  std::vector<float> c(size_t(rows * columns));
  auto aligned = [](std::vector<char> &memory) { return memory.data() + (64 - uintptr_t(memory.data()) % 64); };
  std::vector<char> shared(product.sharedBytes() + 64), own(product.partBytes() + 64);
  for (int64_t phase = 0; phase < product.phases(); ++phase)
    for (int64_t part = 0; part < product.parts(phase); ++part)
      product.run(phase, part, {a.data(), b.data(), c.data()}, aligned(shared), aligned(own));
  return c;
}

bool tryPairs() {
  const TileKernels &kernels = pairsKernels();
  int64_t rows = kernels.rows, columns = kernels.columns, padded = (depth + kernels.group - 1) / kernels.group * kernels.group;
  std::vector<uint16_t> a = operandsOf(size_t(rows * depth), 1), b = operandsOf(size_t(depth * columns), 2);
  std::vector<uint16_t> packedA(size_t(rows * padded)), packedB(size_t(columns * padded));
  std::vector<float> tile(size_t(rows * columns));
  kernels.packA({a.data(), depth, false}, 0, rows, 0, depth, packedA.data());
  kernels.packB({b.data(), columns, false}, 0, depth, 0, columns, packedB.data());
  kernels.multiply(depth, packedA.data(), false, packedB.data(), tile.data(), columns, int(rows), true);
  return std::memcmp(tile.data(), definedProduct(a, b, rows, columns).data(), tile.size() * sizeof(float)) == 0;
}

} // namespace

bool pairsAreExact() {
  static const bool exact = tryPairs();
  return exact;
}

} // namespace npar::engine
