// The tiers of a rank's memory: offsets count through the device's arena, the host's memory and the files, in this order.
#pragma once

#include "engine/program/Program_generated.h"

#include <array>
#include <cstdint>
#include <utility>

namespace npar::program {

constexpr size_t tierCount = static_cast<size_t>(Tier::MAX) + 1;

/// Bytes that a class has in each tier.
using TierBytes = std::array<uint64_t, tierCount>;

inline TierBytes tierBytesOf(const RankClass &rankClass) {
  return {rankClass.arena_bytes(), rankClass.host_bytes(), rankClass.file_bytes()};
}
inline TierBytes tierBytesOf(const RankClassT &rankClass) { return {rankClass.arena_bytes, rankClass.host_bytes, rankClass.file_bytes}; }

/// A place in a tier.
struct TierPlace {
  Tier tier = Tier::Device;
  uint64_t offset = 0; ///< from the tier's first byte
};

/// The tier that an offset is in. The end of a tier counts as the begin of the next one that has bytes.
inline TierPlace tierAt(const TierBytes &bytes, uint64_t offset) {
  size_t tier = 0;
  while (tier + 1 < tierCount && offset >= bytes[tier])
    offset -= bytes[tier++];
  return {static_cast<Tier>(tier), offset};
}

/// The offset of a tier's first byte.
inline uint64_t firstOf(const TierBytes &bytes, Tier tier) {
  uint64_t first = 0;
  for (size_t before = 0; before < static_cast<size_t>(tier); ++before)
    first += bytes[before];
  return first;
}

/// The tiers that a copy reads and writes; of any other step the device's.
inline std::pair<Tier, Tier> tiersOfCopy(const RankClass &rankClass, const Fragment &fragment, const Step &step) {
  if (step.kind() != StepKind::Copy)
    return {Tier::Device, Tier::Device};
  auto tierOf = [&](uint32_t operand) { return rankClass.regions()->Get(fragment.operands()->Get(operand)->region())->tier(); };
  return {tierOf(step.first_operand()), tierOf(step.first_operand() + 1)};
}

} // namespace npar::program
