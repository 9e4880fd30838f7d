// Where ranks stand on hosts, and over which links a group of them sends.
#pragma once

#include "compiler/cost/CostModel.h"

#include <cstdint>
#include <vector>

namespace npar::cost {

/// The host and the place on it of each rank.
class Topology {
public:
  /// `hosts[h]`: the ranks of host h, in the order in which they take its places; each of `world` ranks once.
  Topology(const Machine &machine, const std::vector<std::vector<int64_t>> &hosts, int64_t world);

  /// The nearest level that joins two ranks, of those that the machine has.
  LinkLevel levelBetween(int64_t a, int64_t b) const;
  /// `ranks`: the members of a group.
  GroupSpan spanOf(const std::vector<int64_t> &ranks) const;
  int64_t hostOf(int64_t rank) const { return places[rank].host; }
  int64_t hostCount() const { return hosts; }

private:
  struct Place {
    int64_t host = 0, slot = 0;
  };
  const Machine &machine;
  int64_t hosts;
  std::vector<Place> places; ///< by rank
};

/// Of the group of rank 0 along mesh axes (indices into `sizes`) where ranks take the places of hosts as the mesh numbers them.
GroupSpan spanAlong(const Machine &machine, const std::vector<int64_t> &sizes, const std::vector<size_t> &axes);

} // namespace npar::cost
