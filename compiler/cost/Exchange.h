// Tells how long an all-to-all takes, in which each member has other data for every other one.
#pragma once

#include "compiler/cost/CostModel.h"

namespace npar::cost {

/// Bytes that each member sends to other members on its host (in its rack), and to all beyond.
struct ExchangedBytes {
  double near = 0, far = 0;
};

/// The bytes of an all-to-all whose vector has equal parts for all members.
ExchangedBytes exchangedBytes(double bytes, const GroupSpan &span);

/// Seconds of an all-to-all: log2 n latencies, and the bytes over the member's own links of both levels at the same time. Unlike a ring, it
/// has no use for the links between hosts of other members.
double exchangeSeconds(const Machine &machine, const ExchangedBytes &bytes, const GroupSpan &span);

/// The links that it uses.
std::vector<LinkUse> linksOf(const Machine &machine, const ExchangedBytes &bytes, const GroupSpan &span);

} // namespace npar::cost
