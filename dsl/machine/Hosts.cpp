// Counts hosts and places kind by kind.
#include "dsl/machine/Hosts.h"

#include <algorithm>
#include <numeric>

namespace npar::dsl {

bool isUneven(const Machine &machine) { return !machine.kinds.empty(); }

static int64_t ranksOf(const Machine &machine) { return std::max<int64_t>(1, static_cast<int64_t>(machine.ranks)); }

int64_t hostCount(const Machine &machine) {
  int64_t count = 0;
  for (const HostKind &kind : machine.kinds)
    count += kind.hosts;
  return count;
}

int64_t placeCount(const Machine &machine) {
  int64_t count = 0;
  for (const HostKind &kind : machine.kinds)
    count += kind.hosts * ranksOf(kind.machine);
  return count;
}

size_t kindOfHost(const Machine &machine, int64_t host) {
  size_t kind = 0;
  while (kind + 1 < machine.kinds.size() && host >= machine.kinds[kind].hosts)
    host -= machine.kinds[kind++].hosts;
  return kind;
}

int64_t firstHostOf(const Machine &machine, size_t kind) {
  int64_t first = 0;
  for (size_t before = 0; before < kind; ++before)
    first += machine.kinds[before].hosts;
  return first;
}

const Machine &machineOfKind(const Machine &machine, size_t kind) { return isUneven(machine) ? machine.kinds[kind].machine : machine; }

HostPlace placeAt(const Machine &machine, int64_t index) {
  int64_t first = 0;
  size_t kind = 0;
  for (; kind + 1 < machine.kinds.size(); ++kind) {
    int64_t places = machine.kinds[kind].hosts * ranksOf(machine.kinds[kind].machine);
    if (index < places)
      break;
    index -= places, first += machine.kinds[kind].hosts;
  }
  int64_t each = ranksOf(machineOfKind(machine, kind));
  return {first + index / each, index % each};
}

int64_t hostsFor(const Machine &machine, int64_t ranks) { return ranks > 0 ? placeAt(machine, ranks - 1).host + 1 : 0; }

int64_t placesOf(const Machine &machine, int64_t hosts) {
  int64_t places = 0;
  size_t kind = 0;
  for (; kind + 1 < machine.kinds.size() && hosts > machine.kinds[kind].hosts; ++kind) {
    hosts -= machine.kinds[kind].hosts;
    places += machine.kinds[kind].hosts * ranksOf(machine.kinds[kind].machine);
  }
  return places + hosts * ranksOf(machineOfKind(machine, kind));
}

int64_t devicesOfHosts(const Machine &machine) {
  int64_t least = isUneven(machine) ? ranksOf(machine.kinds.front().machine) : ranksOf(machine);
  for (const HostKind &kind : machine.kinds)
    least = std::min(least, ranksOf(kind.machine));
  return least;
}

void takeDevices(Machine &machine, int64_t devices) {
  for (HostKind &kind : machine.kinds)
    kind.machine.ranks = static_cast<double>(devices);
  machine.ranks = static_cast<double>(devices);
}

void joinKinds(Machine &machine) {
  LinkFigures &inside = machine.link(LinkLevel::Host);
  inside = LinkFigures();
  int64_t together = 0;
  double price = 0;
  bool priced = true;
  machine.kind = MachineKind::Device, machine.cores = 1;
  for (HostKind &kind : machine.kinds) {
    if (kind.machine.link(LinkLevel::Cluster).bandwidth <= 0 && kind.machine.link(LinkLevel::Rack).bandwidth <= 0)
      kind.machine.link(LinkLevel::Cluster) = machine.link(LinkLevel::Cluster);
    const LinkFigures &own = kind.machine.link(LinkLevel::Host);
    inside.bandwidth = inside.bandwidth > 0 ? std::min(inside.bandwidth, own.bandwidth) : own.bandwidth;
    inside.latency = std::max(inside.latency, own.latency);
    inside.hop = std::max(inside.hop, own.hop);
    machine.room = machine.room > 0 ? std::min(machine.room, kind.machine.room) : kind.machine.room;
    machine.reserved = &kind == &machine.kinds.front() ? kind.machine.reserved : std::min(machine.reserved, kind.machine.reserved);
    together = std::gcd(together, ranksOf(kind.machine));
    priced &= kind.machine.price > 0;
    price += static_cast<double>(kind.hosts) * kind.machine.price;
  }
  machine.ranks = static_cast<double>(together);
  machine.price = priced ? price / static_cast<double>(hostCount(machine)) : 0;
}

} // namespace npar::dsl
