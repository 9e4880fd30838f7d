// The hosts of a machine that ranks fill one after the other: all alike, or of several kinds.
#pragma once

#include "dsl/machine/Machine.h"

#include <utility>

namespace npar::dsl {

/// Where ranks find a place, by the order in which they take them.
struct HostPlace {
  int64_t host = 0, slot = 0;
};

bool isUneven(const Machine &machine);

/// How many hosts there are, and how many ranks they hold; of a machine whose hosts are alike 0: as many as are needed.
int64_t hostCount(const Machine &machine);
int64_t placeCount(const Machine &machine);

/// The kind of a host, an index into `kinds`; 0 where all are alike.
size_t kindOfHost(const Machine &machine, int64_t host);
/// The first host of the kind.
int64_t firstHostOf(const Machine &machine, size_t kind);
/// The machine of a kind, or the one of all hosts.
const Machine &machineOfKind(const Machine &machine, size_t kind);

/// The host of the index-th place, from 0, and which of its places that is. Beyond the last host: as if it went on.
HostPlace placeAt(const Machine &machine, int64_t index);

/// How many hosts so many ranks take, the first ones.
int64_t hostsFor(const Machine &machine, int64_t ranks);

/// How many ranks the first so many hosts hold.
int64_t placesOf(const Machine &machine, int64_t hosts);

/// Gives an uneven machine the figures that it has of all kinds: ranks that stand on several kinds go at the pace of the slowest links
/// inside hosts; of memory it has the least that a kind has or reserves; `ranks` is the largest number whose groups fill a host of each
/// kind; the price is that of a host on average. A kind whose own hosts nothing joins gets the link between kinds.
void joinKinds(Machine &machine);

} // namespace npar::dsl
