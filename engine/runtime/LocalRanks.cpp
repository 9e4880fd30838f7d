// The ranks that a session holds out of the world: all of them, or one process's share.
#include "engine/runtime/LocalRanks.h"

#include "engine/program/Ranks.h"

#include <algorithm>
#include <numeric>

namespace npar::engine {

DeviceAddress LocalRank::at(uint64_t offset) const {
  const program::TierPlace place = program::tierAt(bytes, offset);
  switch (place.tier) {
  case program::Tier::Device:
    return arena + place.offset;
  case program::Tier::Host:
    return host + place.offset;
  case program::Tier::File:
    break;
  }
  return file + place.offset;
}

Result<std::vector<int64_t>> localRanks(const program::Program &program, std::vector<int64_t> asked) {
  int64_t world = program::worldOf(program);
  if (asked.empty()) {
    asked.resize(static_cast<size_t>(world));
    std::iota(asked.begin(), asked.end(), 0);
  }
  std::sort(asked.begin(), asked.end());
  for (size_t i = 0; i < asked.size(); ++i) {
    if (asked[i] < 0 || asked[i] >= world)
      return Status::badInput("there is no rank " + std::to_string(asked[i]) + ": the program has ranks 0 to " + std::to_string(world - 1));
    if (i > 0 && asked[i] == asked[i - 1])
      return Status::badInput("rank " + std::to_string(asked[i]) + " is asked for twice");
  }
  return asked;
}

} // namespace npar::engine
