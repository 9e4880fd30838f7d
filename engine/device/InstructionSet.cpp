// Finds the instruction sets of this processor and its operating system for products, from plain code to tiles, and masks them on request.
#include "engine/device/InstructionSet.h"

#include <algorithm>
#include <cpuid.h>
#include <cstdint>
#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>

namespace npar::engine {

namespace {

/// The register state that the system saves (XCR0); 0 without XSAVE.
uint64_t savedState() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
    return 0;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t(high) << 32) | low;
}

/// Linux grants the 8 KiB of tile state on request, per process and for all its later threads.
bool tilesGranted() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

std::vector<InstructionSet> probe() {
  std::vector<InstructionSet> sets{InstructionSet::Plain};
  constexpr uint64_t vectorState = 0x6, maskState = 0xe0, tileState = 0x60000;
  uint64_t saved = savedState();
  unsigned a, b, c, d, b7, c7, d7;
  if ((saved & vectorState) != vectorState || !__get_cpuid(1, &a, &b, &c, &d) || !__get_cpuid_count(7, 0, &a, &b7, &c7, &d7))
    return sets;
  if (!(c & bit_FMA) || !(b7 & bit_AVX2))
    return sets;
  sets.push_back(InstructionSet::Avx2);
  constexpr unsigned wide = bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ;
  if ((saved & maskState) != maskState || (b7 & wide) != wide)
    return sets;
  sets.push_back(InstructionSet::Avx512);
  constexpr unsigned bf16Tiles = 1u << 22, tiles = 1u << 24;
  if ((saved & tileState) == tileState && (d7 & bf16Tiles) && (d7 & tiles) && tilesGranted())
    sets.push_back(InstructionSet::Tiles);
  return sets;
}

} // namespace

std::vector<InstructionSet> availableInstructionSets() {
  static const std::vector<InstructionSet> sets = probe();
  return sets;
}

Result<InstructionSet> bestInstructionSet(const char *most) {
  InstructionSet best = availableInstructionSets().back();
  if (!most || !*most)
    return best;
  for (InstructionSet set : {InstructionSet::Plain, InstructionSet::Avx2, InstructionSet::Avx512, InstructionSet::Tiles})
    if (wordOf(set) == most)
      return std::min(best, set);
  return Status::badInput("NPAR_INSTRUCTIONS is '" + std::string(most) + "'; use plain, avx2, avx512 or tiles");
}

Result<InstructionSet> bestInstructionSet() { return bestInstructionSet(std::getenv("NPAR_INSTRUCTIONS")); }

std::string wordOf(InstructionSet set) {
  switch (set) {
  case InstructionSet::Plain:
    return "plain";
  case InstructionSet::Avx2:
    return "avx2";
  case InstructionSet::Avx512:
    return "avx512";
  case InstructionSet::Tiles:
    return "tiles";
  }
  return "";
}

} // namespace npar::engine
