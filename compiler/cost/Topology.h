// Where ranks stand on hosts, and over which links a group of them sends.
#pragma once

#include "compiler/cost/CostModel.h"

#include <cstdint>
#include <vector>

namespace npar::cost {

/// The host and the place on it of each rank.
class Topology {
public:
  /// `hosts[h]`: the ranks of the machine's host h, in the order in which they take its places; each of `world` ranks once.
  Topology(const Machine &machine, const std::vector<std::vector<int64_t>> &hosts, int64_t world);

  /// The nearest level that joins two ranks, of those that the machine has.
  LinkLevel levelBetween(int64_t a, int64_t b) const;
  /// `ranks`: the members of a group.
  GroupSpan spanOf(const std::vector<int64_t> &ranks) const;
  int64_t hostOf(int64_t rank) const { return places[rank].host; }
  /// The kind of host that a rank stands on, an index into the machine's; 0 where all are alike.
  size_t kindOf(int64_t rank) const { return kinds.empty() ? 0 : kinds[places[rank].host]; }
  /// The machine that a rank computes on.
  const Machine &machineOf(int64_t rank) const;
  /// The machine whose links join a group: that of its members' kind, or the uneven machine itself.
  const Machine &machineJoining(const std::vector<int64_t> &ranks) const;
  /// Of the ranks, the first on each kind of host.
  std::vector<int64_t> firstOfKinds(const std::vector<int64_t> &ranks) const;
  int64_t hostCount() const { return hosts; }

private:
  struct Place {
    int64_t host = 0, slot = 0;
  };
  const Machine &machine;
  int64_t hosts;
  std::vector<Place> places; ///< by rank
  std::vector<size_t> kinds; ///< of an uneven machine's hosts
};

/// Of the group of rank 0 along mesh axes (indices into `sizes`) where ranks take the places of hosts as the mesh numbers them. Of an
/// uneven machine its hosts, with the links that join different ones.
GroupSpan spanAlong(const Machine &machine, const std::vector<int64_t> &sizes, const std::vector<size_t> &axes);

} // namespace npar::cost
