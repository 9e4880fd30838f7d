// Every rank's arena: exactly the planned bytes, and how many of them the program really binds.
#pragma once

#include "engine/device/Backend.h"
#include "engine/runtime/LocalRanks.h"

#include <vector>

namespace npar::engine {

class Arenas {
public:
  explicit Arenas(Backend &backend) : backend(backend) {}
  Arenas(const Arenas &) = delete;
  ~Arenas();
  /// One zeroed arena for each of these ranks.
  Status allocate(const program::Program &program, const std::vector<int64_t> &which);
  const std::vector<LocalRank> &all() const { return ranks; }

private:
  Backend &backend;
  std::vector<LocalRank> ranks;
  std::vector<uint64_t> sizes;
};

/// The end of the highest byte that an operand, a workspace, a piece, an input or an output of the class occupies, in whole cache lines
/// (the unit of placing) and never more than the arena.
uint64_t highWaterMark(const program::Program &program, const program::RankClass &rankClass);

} // namespace npar::engine
