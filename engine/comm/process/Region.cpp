// A part of a member's buffer: runs of bytes at regular distances.
#include "engine/comm/process/Region.h"

namespace npar::engine {

Region::Region(uint64_t base, uint64_t run, Loops given) : base(base), run(run) {
  // Goes from the innermost loop outwards: a loop that continues the run lengthens it; a loop that continues the loop within it is merged.
  size_t kept = loops.size();
  for (size_t i = given.size(); i-- > 0;) {
    const RegionLoop &loop = given[i];
    bool first = kept == loops.size();
    if (loop.count == 1)
      continue;
    if (first && loop.stride == this->run)
      this->run *= loop.count;
    else if (!first && loop.stride == loops[kept].stride * loops[kept].count)
      loops[kept].count *= loop.count;
    else
      loops[--kept] = loop;
  }
}

uint64_t Region::placeOf(uint64_t offset) const {
  uint64_t number = offset / run, place = base + offset % run;
  for (size_t i = loops.size(); i-- > 0; number /= loops[i].count)
    place += number % loops[i].count * loops[i].stride;
  return place;
}

} // namespace npar::engine
