// Finds the instruction sets of this processor and its operating system for products, from plain code to tiles, and masks them on request.
#include "engine/device/InstructionSet.h"

#include "engine/device/ProcessorFeatures.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <sys/syscall.h>
#include <unistd.h>

namespace npar::engine {

namespace {

/// Linux grants the 8 KiB of tile state on request, per process and for all its later threads.
bool tilesGranted() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

bool hasAll(std::initializer_list<const char *> names) {
  return std::all_of(names.begin(), names.end(), [](const char *name) { return hasFeature(name).value_or(false); });
}

std::vector<InstructionSet> probe() {
  std::vector<InstructionSet> sets{InstructionSet::Plain};
  if (!hasAll({"avx2", "fma"}))
    return sets;
  sets.push_back(InstructionSet::Avx2);
  if (!hasAll({"avx512f", "avx512bw", "avx512vl", "avx512dq"}))
    return sets;
  sets.push_back(InstructionSet::Avx512);
  if (!hasAll({"avx512bf16"}))
    return sets;
  sets.push_back(InstructionSet::Pairs);
  if (hasAll({"amx-bf16", "amx-tile"}) && tilesGranted())
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
  for (InstructionSet set :
       {InstructionSet::Plain, InstructionSet::Avx2, InstructionSet::Avx512, InstructionSet::Pairs, InstructionSet::Tiles})
    if (wordOf(set) == most)
      return std::min(best, set);
  return Status::badInput("NPAR_INSTRUCTIONS is '" + std::string(most) + "'; use plain, avx2, avx512, pairs or tiles");
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
  case InstructionSet::Pairs:
    return "pairs";
  case InstructionSet::Tiles:
    return "tiles";
  }
  return "";
}

} // namespace npar::engine
