// Levels follow from host, place on it and rack.
#include "compiler/cost/Topology.h"

#include "dsl/machine/Hosts.h"

#include <algorithm>

namespace npar::cost {

namespace {

LinkLevel levelOf(const Machine &machine, int64_t hostA, int64_t slotA, int64_t hostB, int64_t slotB) {
  if (hostA == hostB)
    return machine.link(LinkLevel::Pair).bandwidth > 0 && slotA / 2 == slotB / 2 ? LinkLevel::Pair : LinkLevel::Host;
  const dsl::LinkFigures &rack = machine.link(LinkLevel::Rack);
  auto hosts = static_cast<int64_t>(rack.hosts);
  return rack.bandwidth > 0 && hosts > 0 && hostA / hosts == hostB / hosts ? LinkLevel::Rack : LinkLevel::Cluster;
}

/// The span of a group whose member i is at `placeAt(i)` = (host, slot).
template <typename PlaceAt> GroupSpan spanOfPlaces(const Machine &machine, size_t members, PlaceAt placeAt) {
  GroupSpan span;
  span.members = static_cast<int>(members);
  span.level = LinkLevel::Pair;
  std::vector<int64_t> hosts; // neighbours are often the same
  auto rackHosts = std::max<int64_t>(1, static_cast<int64_t>(machine.link(LinkLevel::Rack).hosts));
  auto [firstHost, firstSlot] = placeAt(0);
  for (size_t member = 0; member < members; ++member) {
    auto [host, slot] = placeAt(member);
    if (hosts.empty() || hosts.back() != host)
      hosts.push_back(host);
    span.level = std::max(span.level, levelOf(machine, firstHost, firstSlot, host, slot));
  }
  if (machine.link(LinkLevel::Pair).bandwidth <= 0)
    span.level = std::max(span.level, LinkLevel::Host);
  if (nearerLevel(machine, span.level) == LinkLevel::Rack)
    for (int64_t &host : hosts)
      host /= rackHosts;
  if (!std::is_sorted(hosts.begin(), hosts.end()))
    std::sort(hosts.begin(), hosts.end());
  auto parts = std::unique(hosts.begin(), hosts.end()) - hosts.begin();
  span.inside = static_cast<double>(members) / static_cast<double>(std::max<int64_t>(1, parts));
  return span;
}

} // namespace

Topology::Topology(const Machine &machine, const std::vector<std::vector<int64_t>> &hosts, int64_t world)
    : machine(machine), hosts(static_cast<int64_t>(hosts.size())), places(static_cast<size_t>(world)) {
  for (size_t host = 0; host < hosts.size(); ++host)
    for (size_t slot = 0; slot < hosts[host].size(); ++slot)
      places[hosts[host][slot]] = {static_cast<int64_t>(host), static_cast<int64_t>(slot)};
  for (size_t host = 0; host < hosts.size() && dsl::isUneven(machine); ++host)
    kinds.push_back(dsl::kindOfHost(machine, static_cast<int64_t>(host)));
}

LinkLevel Topology::levelBetween(int64_t a, int64_t b) const { return spanOf({a, b}).level; }

const Machine &Topology::machineOf(int64_t rank) const { return dsl::machineOfKind(machine, kindOf(rank)); }

const Machine &Topology::machineJoining(const std::vector<int64_t> &ranks) const {
  size_t kind = kindOf(ranks.front());
  bool alike = std::all_of(ranks.begin(), ranks.end(), [&](int64_t rank) { return kindOf(rank) == kind; });
  return alike ? machineOf(ranks.front()) : machine;
}

std::vector<int64_t> Topology::firstOfKinds(const std::vector<int64_t> &ranks) const {
  std::vector<int64_t> firsts;
  for (int64_t rank : ranks)
    if (std::none_of(firsts.begin(), firsts.end(), [&](int64_t other) { return kindOf(other) == kindOf(rank); }))
      firsts.push_back(rank);
  return firsts;
}

GroupSpan Topology::spanOf(const std::vector<int64_t> &ranks) const {
  const Machine &joining = machineJoining(ranks);
  // racks are numbered from the first host of each kind
  int64_t first = &joining == &machine ? 0 : dsl::firstHostOf(machine, kindOf(ranks.front()));
  return spanOfPlaces(joining, ranks.size(), [&](size_t member) {
    const Place &place = places[ranks[member]];
    return std::pair(place.host - first, place.slot);
  });
}

GroupSpan spanAlong(const Machine &machine, const std::vector<int64_t> &sizes, const std::vector<size_t> &axes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t axis = sizes.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * sizes[axis];
  size_t members = 1;
  for (size_t axis : axes)
    members *= static_cast<size_t>(sizes[axis]);
  return spanOfPlaces(machine, members, [&](size_t member) {
    int64_t rank = 0;
    for (size_t place = axes.size(); place-- > 0;) {
      rank += static_cast<int64_t>(member) % sizes[axes[place]] * strides[axes[place]];
      member /= static_cast<size_t>(sizes[axes[place]]);
    }
    dsl::HostPlace place = dsl::placeAt(machine, rank);
    return std::pair(place.host, place.slot);
  });
}

} // namespace npar::cost
