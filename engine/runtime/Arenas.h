// The arenas of the ranks: exactly the planned bytes, and how many of them the program uses.
#pragma once

#include "engine/device/Backend.h"
#include "engine/runtime/LocalRanks.h"

#include <string>
#include <vector>

namespace npar::engine {

class Arenas {
public:
  explicit Arenas(Backend &backend) : backend(backend) {}
  Arenas(const Arenas &) = delete;
  ~Arenas();
  /// One zeroed arena for each of these ranks, and its memory in the other tiers, in which the programs of `guests` have room, too. Devices
  /// have equal blocks of the ranks, so that neighbours share one; each must hold its ranks' arenas.
  Status allocate(const program::Program &program, const std::vector<int64_t> &which,
                  const std::vector<const program::Program *> &guests = {});
  /// The arenas of `host`, which outlive this: parameters and states of one program are those of the other (whyApart).
  Status share(const Arenas &host, const program::Program &program, const std::vector<int64_t> &which);
  const std::vector<LocalRank> &all() const { return ranks; }
  /// The device that has the arena of each of `count` ranks.
  std::vector<size_t> devicesOf(size_t count) const;
  /// "ranks 0 to 3 are on GPU 0 (40960 bytes), ranks 4 to 7 on GPU 1 (40960 bytes)".
  std::string placement() const;

private:
  /// The device of the rank at `place` among `count`.
  size_t deviceOf(size_t place, size_t count) const { return place * backend.devices() / count; }

  Backend &backend;
  std::vector<LocalRank> ranks;
  std::vector<program::TierBytes> sizes; ///< bytes that each rank has in each tier; empty for arenas shared with another
};

/// The reason why programs cannot take turns in the same memory, or nothing. They need the same mesh, and in each rank the same parameters
/// and states (with the same sizes) at the same places. A state that only one program's steps use may be overwritten by the other's.
std::string whyApart(const program::Program &a, const program::Program &b);

/// The end of the highest byte of each tier that an operand, a workspace, a piece, an input or an output of the class occupies, rounded up
/// to whole cache lines (the unit of placement) and never more than the class has there.
program::TierBytes highWaterMark(const program::Program &program, const program::RankClass &rankClass);

} // namespace npar::engine
