// The hosts that ranks run on, and the links over which a group of ranks communicates.
#pragma once

#include "compiler/cost/CostModel.h"

#include <cstdint>
#include <vector>

namespace npar::cost {

/// The host of each rank and its slot on that host.
class Topology {
public:
  /// `hosts[h]`: the ranks on the machine's host h, in the order of its slots; each of the `world` ranks occurs once.
  Topology(const Machine &machine, const std::vector<std::vector<int64_t>> &hosts, int64_t world);

  /// The nearest level of the machine that joins two ranks.
  LinkLevel levelBetween(int64_t a, int64_t b) const;
  /// `ranks`: the members of a group.
  GroupSpan spanOf(const std::vector<int64_t> &ranks) const;
  int64_t hostOf(int64_t rank) const { return places[rank].host; }
  /// The kind of host that a rank runs on, as an index into the machine's kinds; 0 with a single kind.
  size_t kindOf(int64_t rank) const { return kinds.empty() ? 0 : kinds[places[rank].host]; }
  /// The machine that a rank computes on.
  const Machine &machineOf(int64_t rank) const;
  /// The machine whose links join a group: that of its members' kind, or the uneven machine itself.
  const Machine &machineJoining(const std::vector<int64_t> &ranks) const;
  /// The first of the ranks on each kind of host.
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

/// The span of rank 0's group along mesh axes (indices into `sizes`), if ranks take the slots of hosts in the order of the mesh. On an
/// uneven machine it covers the hosts as they are and the links that join different kinds.
GroupSpan spanAlong(const Machine &machine, const std::vector<int64_t> &sizes, const std::vector<size_t> &axes);

} // namespace npar::cost
