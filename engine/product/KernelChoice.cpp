// Chooses the kernels of an instruction set for a type of products.
#include "engine/product/TileKernels.h"

#include <algorithm>

namespace npar::engine {

InstructionSet ownSet(InstructionSet most, ProductType type) {
  if (most == InstructionSet::Tiles && hasTiles(type))
    return most;
  if (most >= InstructionSet::Pairs && hasPairs(type) && pairsAreExact())
    return InstructionSet::Pairs;
  return std::min(most, InstructionSet::Avx512);
}

ProductType fastestBf16(InstructionSet set) {
  bool pairs = set != InstructionSet::Tiles && ownSet(set, ProductType::BF16Pairs) == InstructionSet::Pairs;
  return pairs ? ProductType::BF16Pairs : ProductType::BF16;
}

const TileKernels &thinKernels(InstructionSet set, ProductType type, bool bTransposed) {
  // A variable that is made at its first use may throw: that code belongs to no file of one instruction set.
  if (set == InstructionSet::Tiles && hasTiles(type) && bTransposed) {
    static const TileKernels tiles = thinTilesKernels();
    return tiles;
  }
  return tileKernels(hasTiles(type) ? std::min(set, InstructionSet::Avx512) : set, type);
}

const TileKernels &tileKernels(InstructionSet set, ProductType type) {
  switch (ownSet(set, type)) {
  case InstructionSet::Tiles:
    return tilesKernels();
  case InstructionSet::Pairs:
    return pairsKernels();
  case InstructionSet::Avx512:
    return avx512Kernels(type);
  case InstructionSet::Avx2:
    return avx2Kernels(type);
  case InstructionSet::Plain:
    break;
  }
  return plainKernels(type);
}

} // namespace npar::engine
