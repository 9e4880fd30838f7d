// Intersects the intervals of offsets that the exchanges allow.
#include "engine/job/ClockOffsets.h"

#include <algorithm>
#include <limits>

namespace npar::job {

std::vector<ClockOffset> clockOffsets(const std::vector<std::vector<ClockExchange>> &exchanges) {
  std::vector<ClockOffset> offsets(exchanges.size());
  for (size_t process = 1; process < exchanges.size(); ++process) {
    const std::vector<ClockExchange> &zero = exchanges[0], &own = exchanges[process];
    double least = -std::numeric_limits<double>::infinity(), greatest = -least;
    for (size_t i = 0; i < std::min(zero.size(), own.size()); ++i) {
      least = std::max(least, zero[i].begun - own[i].ended);
      greatest = std::min(greatest, zero[i].ended - own[i].begun);
    }
    offsets[process] = {(least + greatest) / 2, std::max(0.0, greatest - least) / 2};
  }
  return offsets;
}

} // namespace npar::job
