// The hosts of a machine, which ranks fill one after the other. They are equal or of several kinds.
#pragma once

#include "dsl/machine/Machine.h"

#include <utility>

namespace npar::dsl {

/// A place for a rank: a host, and a slot on it.
struct HostPlace {
  int64_t host = 0, slot = 0;
};

bool isUneven(const Machine &machine);

/// The number of hosts, and the number of ranks that they hold; 0 for a machine with one kind of host, which has as many as needed.
int64_t hostCount(const Machine &machine);
int64_t placeCount(const Machine &machine);

/// The kind of a host, as an index into `kinds`; 0 with a single kind.
size_t kindOfHost(const Machine &machine, int64_t host);
/// The first host of the kind.
int64_t firstHostOf(const Machine &machine, size_t kind);
/// The machine of a kind, or the one of all hosts.
const Machine &machineOfKind(const Machine &machine, size_t kind);

/// The place of the index-th rank, from 0. After the last host it continues as if there were more.
HostPlace placeAt(const Machine &machine, int64_t index);

/// The number of hosts that the first `ranks` ranks occupy.
int64_t hostsFor(const Machine &machine, int64_t ranks);

/// The number of ranks that the first `hosts` hosts hold.
int64_t placesOf(const Machine &machine, int64_t hosts);

/// The largest number of devices that every host of the machine has.
int64_t devicesOfHosts(const Machine &machine);
/// Leaves `devices` of each host to ranks; at most devicesOfHosts.
void takeDevices(Machine &machine, int64_t devices);

/// Derives the figures that an uneven machine has for all of its kinds. Ranks on several kinds get the figures of the slowest links inside
/// hosts. Memory and reserved memory are the least of any kind. `ranks` is the largest group size that fills the hosts of every kind. The
/// price is the average per host. A kind without links between its own hosts gets the link between kinds.
void joinKinds(Machine &machine);

} // namespace npar::dsl
