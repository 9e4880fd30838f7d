// Other members are near or far, and each member has links of its own to both.
#include "compiler/cost/Exchange.h"

#include <algorithm>
#include <cmath>

namespace npar::cost {

ExchangedBytes exchangedBytes(double bytes, const GroupSpan &span) {
  double near = span.level <= LinkLevel::Host ? span.members : span.inside;
  return {bytes * (near - 1) / span.members, bytes * (span.members - near) / span.members};
}

/// Seconds of an all-to-all's bytes on the links of the two levels.
static ExchangedBytes exchangeTimes(const Machine &machine, const ExchangedBytes &bytes, const GroupSpan &span) {
  LinkLevel near = span.level <= LinkLevel::Host ? span.level : nearerLevel(machine, span.level);
  return {bytes.near / linkOf(machine, near).bandwidth, bytes.far / linkOf(machine, span.level).bandwidth};
}

double exchangeSeconds(const Machine &machine, const ExchangedBytes &bytes, const GroupSpan &span) {
  ExchangedBytes times = exchangeTimes(machine, bytes, span);
  return std::ceil(std::log2(span.members)) * linkOf(machine, span.level).latency + std::max(times.near, times.far);
}

std::vector<LinkUse> linksOf(const Machine &machine, const ExchangedBytes &bytes, const GroupSpan &span) {
  ExchangedBytes times = exchangeTimes(machine, bytes, span);
  double longest = std::max(times.near, times.far);
  if (span.level <= LinkLevel::Host || longest <= 0)
    return {{span.level, 1}};
  return {{span.level, times.far / longest}, {nearerLevel(machine, span.level), times.near / longest}};
}

} // namespace npar::cost
